"""The array IR: what a generated function computes, before anyone writes it as text.

Expressions are arrays with positional axes, each an operation of other arrays; they are
interned, so that equal means identical. Statements bind them to names and change arrays
in place. Lowering builds both, printers write them, and what is to be known of them
(what they read, whose memory they share, how plainly they read) is told by one function
for each question.
"""
