"""`headrace demo`: the same training, fed by a stock loader and by ours."""
