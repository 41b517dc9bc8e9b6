"""Texts and schemas of raw string values: source code and markup, for `bench.reference`."""

from __future__ import annotations

CODE = """\
#include <vector>
#include <cstdint>

template <typename T>
static int lower(const std::vector<T> &of, T at) {
    int first = 0, last = (int)of.size();
    while (first < last) {
        int middle = first + ((last - first) >> 1);
        if (of[middle] < at) first = middle + 1;
        else last = middle;
    }
    return first; // 0 <= first <= of.size()
}
"""
MARKUP = """\
<!DOCTYPE html>
<html lang="en">
<head><title>Orders</title><link rel="stylesheet" href="/site.css"></head>
<body>
  <h1>Orders of <em>today</em></h1>
  <table>
    <tr><th>Number</th><th>Of</th></tr>
    <tr><td>17</td><td><a href="/orders/17">Ms. Ochs</a></td></tr>
    <tr><td>18</td><td><a href="/orders/18">Mr. Adler</a></td></tr>
  </table>
  <p>Two orders, <b>one</b> of them <i>open</i>.</p>
</body>
</html>
"""
SCHEMAS = {
    "string": {"type": "string"},
    "with a length": {"type": "string", "maxLength": 20_000},
}
