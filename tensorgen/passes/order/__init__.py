"""The order of products: networks of labels, trees, sums that factor and distribute.

`flatten_products` runs the laws of one node (`open_products`, `distribute_products`,
`factor_sums` and more) until an n-ary product shows; `order_contractions` makes a tree
of it (`search_trees` and `merge_greedily` over `networks`).
"""
