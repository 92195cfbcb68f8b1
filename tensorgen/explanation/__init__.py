"""What a spec becomes, shown to a reader: formulas, structure, costs, statements.

| file                    | holds                                                      |
|-------------------------|------------------------------------------------------------|
| `subjects.py`           | the public functions of a spec, compiled, and what is told |
| `sum_ranges.py`         | formulas in index notation, with the ranges of their sums  |
| `formula_tree.py`       | a formula as a tree, for those who lay it out              |
| `matrix_tree.py`        | a formula in matrices as such a tree                       |
| `told_statements.py`    | the emitted statements, and which formulas they compute    |
| `report.py`             | all of it as text                                          |
| `latex.py`              | formulas as LaTeX                                          |
| `dag.py`                | what is computed of what, and the same as Graphviz DOT     |
| `passes.py`             | what each pass did                                         |
| `page.py`               | all of it as a page, with formulas of `mathml.py`          |
| `style.py`              | how that page looks                                        |
| `drawing.py`            | pictures: by Graphviz, and those of the page               |
| `layers.py`             | where the values of these stand                            |
| `function_reference.py` | what can be called in a spec, derivatives and samples      |
| `function_forms.py`     | their stable forms, helpers, and CUDA                      |
| `shown.py`              | all of it as an object, which notebooks show               |
| `written_files.py`      | files that are ours to overwrite                           |
"""
