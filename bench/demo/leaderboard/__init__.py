"""Questions of the Berkeley Function Calling Leaderboard: `python -m bench.demo.leaderboard`.

`published` reads questions and answers of the package `bfcl-eval` and calls its checker,
`workload` makes requests of them, `counting` counts the replies and compares two servers.
"""
