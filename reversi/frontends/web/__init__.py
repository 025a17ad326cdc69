"""The game in a browser: a page, and the server that plays, analyses and reads games for it."""
