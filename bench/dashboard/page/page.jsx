// Draws a Grafana dashboard's JSON with Grafana's own components, from a Prometheus.
// ?dashboard=URL&prometheus=URL&from=SECONDS&to=SECONDS&interval=SECONDS&theme=dark|light&width=PX
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import {
  EventBusSrv, FieldConfigOptionsRegistry, FieldType, ThemeContext, applyFieldOverrides, createTheme, dateTime,
  getFieldDisplayValues,
} from "@grafana/data";
import { BigValue, GlobalStyles, PanelChrome, PanelContextProvider, TimeSeries } from "@grafana/ui";

const asked = new URLSearchParams(location.search);
const [from, to] = ["from", "to"].map((name) => Number(asked.get(name)));
const scraped = Number(asked.get("interval") ?? 15);
const width = Number(asked.get("width") ?? 1600);
const theme = createTheme({ colors: { mode: asked.get("theme") ?? "dark" } });
const [CELL, GAP] = [30, 8]; // of Grafana's grid
const bus = new EventBusSrv();
const range = { from: dateTime(from * 1000), to: dateTime(to * 1000), raw: { from: "", to: "" } };

// What Grafana's Prometheus data source does: the step, and the variables that follow from it.
function step(pixels) {
  const nice = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600];
  return Math.max(scraped, nice.find((each) => each >= (to - from) / pixels) ?? 3600);
}
const written = (expr, seconds) => expr
  .replaceAll("$__rate_interval", `${Math.max(seconds + scraped, 4 * scraped)}s`)
  .replaceAll("$__range", `${to - from}s`)
  .replaceAll(/\$(job|instance)/g, ".*");
const legend = (format, labels) => format.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => labels[name] ?? "");

async function frames(target, seconds) {
  const times = target.instant ? { time: to } : { start: from, end: to, step: seconds };
  const query = new URLSearchParams({ query: written(target.expr, seconds), ...times });
  const path = target.instant ? "query" : "query_range";
  const answer = await (await fetch(`${asked.get("prometheus")}/api/v1/${path}?${query}`)).json();
  if (answer.status !== "success") throw new Error(answer.error);
  return answer.data.result.map(({ metric, value, values = [value] }) => ({
    refId: target.refId,
    length: values.length,
    fields: [
      { name: "Time", type: FieldType.time, config: { interval: seconds * 1000 }, values: values.map(([t]) => t * 1000) },
      {
        name: "Value", type: FieldType.number, labels: metric, values: values.map(([, v]) => Number(v)),
        config: { displayNameFromDS: legend(target.legendFormat, metric) || undefined },
      },
    ],
  }));
}

// Which fields a panel's plugin lets one configure is in Grafana itself: here, whatever the panel has.
function registry(source) {
  const properties = new Map();
  const add = (path, isCustom) => properties.set(`${isCustom ? "custom." : ""}${path}`, {
    id: `${isCustom ? "custom." : ""}${path}`, path, isCustom, process: (value) => value, shouldApply: () => true,
  });
  for (const name of Object.keys(source.defaults)) if (name !== "custom") add(name, false);
  for (const name of Object.keys(source.defaults.custom ?? {})) add(name, true);
  for (const rule of source.overrides) {
    for (const { id } of rule.properties) id.startsWith("custom.") ? add(id.slice(7), true) : add(id, false);
  }
  const made = new FieldConfigOptionsRegistry();
  for (const item of properties.values()) made.register(item);
  return made;
}

function Stat({ panel, data, ...size }) {
  const { reduceOptions, ...options } = panel.options;
  const values = getFieldDisplayValues({
    fieldConfig: panel.fieldConfig, reduceOptions, replaceVariables: (text) => text, theme, data, timeZone: "utc",
  });
  return values.map(({ display }, at) => (
    <BigValue key={at} value={display} count={values.length} theme={theme} {...options} {...size} />
  ));
}

function Series({ panel, data, ...size }) {
  // As Grafana's panel does before it draws: what is not finite is not there.
  for (const frame of data) frame.fields[1].values = frame.fields[1].values.map((v) => (Number.isFinite(v) ? v : null));
  if (!data.length) return <div className="nothing" style={size}>No data</div>;
  return (
    <TimeSeries frames={data} structureRev={1} timeRange={range} timeZone="utc" legend={panel.options.legend} {...size}>
      {() => null}
    </TimeSeries>
  );
}

function Panel({ panel, left, top, wide, high }) {
  const [state, setState] = useState(null);
  useEffect(() => {
    const seconds = step(wide);
    Promise.all(panel.targets.map((target) => frames(target, seconds))).then(
      (all) => setState({
        data: applyFieldOverrides({
          data: all.flat(), fieldConfig: panel.fieldConfig, fieldConfigRegistry: registry(panel.fieldConfig),
          replaceVariables: (text) => text, theme, timeZone: "utc",
        }),
      }),
      (error) => setState({ error: `${panel.title}: ${error}` }),
    );
  }, []);
  const Draw = { stat: Stat, timeseries: Series }[panel.type];
  return (
    <div className="cell" data-state={state ? "done" : "waits"} style={{ left, top }}>
      <PanelChrome title={panel.title} description={panel.description} width={wide} height={high} statusMessage={state?.error}
        padding={panel.type === "stat" ? "none" : "md"}>
        {(w, h) => (state?.data ? <Draw panel={panel} data={state.data} width={w} height={h} /> : <>{state?.error}</>)}
      </PanelChrome>
    </div>
  );
}

function Dashboard({ dashboard }) {
  const column = (width + GAP) / 24;
  const bottom = Math.max(...dashboard.panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  return (
    <div style={{ position: "relative", margin: 16, width, height: bottom * (CELL + GAP) }}>
      {dashboard.panels.map((panel) => {
        const { x, y, w, h } = panel.gridPos;
        const [left, top] = [x * column, y * (CELL + GAP)];
        if (panel.type === "row") return <h2 key={panel.id} className="row" style={{ left, top }}>⌄ {panel.title}</h2>;
        return <Panel key={panel.id} panel={panel} left={left} top={top} wide={Math.round(w * column - GAP)} high={h * (CELL + GAP) - GAP} />;
      })}
    </div>
  );
}

const style = document.createElement("style");
style.textContent = `
  body { background: ${theme.colors.background.canvas}; }
  .cell, .row { position: absolute; }
  .row { font-size: 16px; font-weight: 500; margin: 0; line-height: ${CELL}px; }
  .nothing { display: flex; align-items: center; justify-content: center; color: ${theme.colors.text.secondary}; }`;
document.head.append(style);
const dashboard = await (await fetch(asked.get("dashboard") ?? "/enforcer.json")).json();
createRoot(document.getElementById("root")).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    <PanelContextProvider value={{ eventsScope: "all", eventBus: bus }}><Dashboard dashboard={dashboard} /></PanelContextProvider>
  </ThemeContext.Provider>,
);
