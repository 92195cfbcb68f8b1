"""What takes a function, a problem and a module through the stages.

`planner` plans one function (`planned` is what comes of it, `shares` says whose roots
are which, `parameters` what it takes), with what only one who knows all calls can do:
matrices of low rank are inverted by their parts (`invert_low_rank`) and recurrences
keep few states. `kept_calls` plans what calls definitions, beside that, and
`compose_functions` takes the shorter one. `problem_plans` and `constrained_plans` plan
the classes of problems, cut by what changes how often (`cut_stages`);
`derivative_objects` makes the classes of derivatives, `formulas` what docstrings say,
`share_code` what the functions of one formula share (`lowered_functions`),
`build_module` the module that a backend renders, `claims` what the check holds it to,
and `remarks` tells what is worth to be known and no fault.
"""
