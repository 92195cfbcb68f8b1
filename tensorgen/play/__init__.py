"""A local page on which formulas are typed, and what becomes of them is read.

| file                 | holds                                                         |
|----------------------|---------------------------------------------------------------|
| `open_shapes.py`     | the shapes that an expression leaves open: which axes agree   |
| `expression_spec.py` | an expression and its variables as a spec, and places in it   |
| `worker.py`          | what is made of a spec: code, formulas, a check, times        |
| `warm.py`            | what all jobs do at first, done once                          |
| `timing.py`          | how long emitted functions take                               |
| `highlight.py`       | Python as HTML                                                |
| `requests.py`        | what may be asked for, and what that may take                 |
| `processes.py`       | that work in processes of its own, which end in time          |
| `guard.py`           | who may ask at all                                            |
| `http_server.py`     | what there is to ask for, where a server answers              |
| `in_browser.py`      | what answers without one: Python in the browser               |
| `gallery.py`         | examples to start from                                        |
| `page_files.py`      | the files of the page, as browsers get them                   |
| `page/`              | the page: HTML, style and scripts                             |

What a browser sends is untrusted: it is data for the compiler, never a path, a command
or code. What is sent back is text, or HTML made here with every text in it escaped.
"""
