"""`reversi rate`: a ladder of many players, and players against the exact scores of labelled positions."""
