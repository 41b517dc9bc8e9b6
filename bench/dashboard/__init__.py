"""The dashboard, drawn by Grafana's own components: `python -m bench.dashboard`.

`load` is what a real server is asked, `page/` draws the dashboard's JSON from what a Prometheus
has scraped of it, `__main__` runs them. It is no Grafana: what a panel's query, layout and drawing
are in it is its published libraries (Apache-2.0), what lies around them is `page/page.jsx`.
"""
