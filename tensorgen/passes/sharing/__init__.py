"""What several terms, products or sums have in common is computed once."""
