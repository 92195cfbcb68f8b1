"""Random naive texts at extreme points, against arithmetic of many digits.

Texts such as `log(sum(p * exp(x)))` are made (`grow`, `shapes`), read in as many digits
as it takes and differentiated twice (`meaning`, `jets`), and compared with what their
generated modules give at tiny, ordinary and huge arguments (`judge`).
"""
