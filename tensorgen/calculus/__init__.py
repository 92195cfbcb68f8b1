"""The tensor calculus: forward and reverse mode for outputs of any order.

Source of the rules: Laue, Mitterreiter, Giesen, A Simple and Efficient Tensor
Calculus for Machine Learning (2020), Theorems 5 to 10.
"""
