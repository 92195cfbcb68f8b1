"""Arrays that are made a step at a time.

`recurrence` is the call and its step; `all_steps` computes what waits for no state, for
all steps at once; `runs` and `folds` are the forms that keep few states.
"""
