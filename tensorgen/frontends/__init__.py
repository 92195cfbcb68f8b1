"""Front ends: what people have their functions in, read and written as specs.

`translation.py` has what a front end returns, the text of a spec with the remarks of
who reads it. A front end only reads: nothing it is given is run.

Notations of matrices, in which vectors are columns, are parsed to one tree:

| file                    | holds                                                      |
|-------------------------|------------------------------------------------------------|
| `notations.py`          | the table of notations of files, and how one is recognized |
| `formula.py`            | the tree                                                   |
| `known_functions.py`    | functions that it may call                                 |
| `declared.py`           | variables: what was said of them, or follows from letters  |
| `open_axes.py`          | which axes are as long as others, and names of sizes       |
| `shape_of.py`           | shapes of trees, which join axes                           |
| `write_expression.py`   | trees as expressions of the spec language                  |
| `write_spec.py`         | specs of trees: inputs, functions, bounds and constraints  |
| `cursor.py`             | tokens in a row                                            |
| `matlab_syntax.py`      | formulas in MATLAB's manner                                |
| `read_declarations.py`  | `symmetric matrix A`, `x is a vector`                      |
| `matrixcalculus.py`     | MatrixCalculus.org's notation                              |
| `geno.py`               | GENO's model files                                         |
| `read_latex.py`         | LaTeX: formulas, constraints, what symbols are             |
| `latex_syntax.py`       | its formulas                                               |
| `latex_symbols.py`      | what its symbols stand for, by their use                   |
| `latex_limits.py`       | limits of sums, and subscripts                             |
| `latex_tokens.py`       | its tokens                                                 |
| `latex_words.py`        | what its commands mean                                     |
| `sympy_expressions.py`  | SymPy's expressions, as objects                            |
| `sympy_of_nodes.py`     | the other way: functions of a spec, said in SymPy          |

Functions over NumPy are read from the source of Python, and specs made in it:

| file                    | holds                                                      |
|-------------------------|------------------------------------------------------------|
| `numpy_functions.py`    | functions, and helpers that they call                      |
| `numpy_files.py`        | files of them, as `tensorgen from` reads them              |
| `over_numpy/`           | bodies, expressions and calls in them                      |
| `python_source.py`      | what names of a file refer to, and where                   |
| `declared_shapes.py`    | shapes of arguments, as texts                              |
| `known_shapes.py`       | shapes of values, as the language proves them              |
| `spec_text.py`          | texts that know what they came from, for faults            |
| `spec_parts.py`         | what is written under the keys of a spec                   |
| `made_spec.py`          | what a spec that is made in Python can do                  |
| `decorated_function.py` | functions that are decorated                               |
| `spec_builder.py`       | specs that are put together                                |
"""
