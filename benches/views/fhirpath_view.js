#!/usr/bin/env node
// Computes one of the views with npm `fhirpath` (3.9) from NDJSON to CSV, in one process and one thread.
//
//   fhirpath_view.js VIEW.json SOURCE.ndjson OUT.csv
//
// It supports these parts of SQL on FHIR: column, nested select, forEach, forEachOrNull (over plain paths), unionAll,
// where. Every expression is compiled once, with the R4 model. Inside forEach it starts from the element's path in the
// resource, so that choices and references keep their types.
"use strict";

const fs = require("fs");
const readline = require("readline");
const fhirpath = require("fhirpath");
const model = require("fhirpath/fhir-context/r4");

// An argument of getReferenceKey is a type. The library resolves only its own types, so the type is passed as a string.
const keys = {
  getResourceKey: { fn: (nodes) => nodes.map((node) => node.id), arity: { 0: [] } },
  getReferenceKey: {
    fn: (nodes, type) =>
      nodes.flatMap((node) => {
        const [kind, id] = (node.reference ?? "").split("/");
        return id !== undefined && (type === undefined || kind === type) ? [id] : [];
      }),
    arity: { 0: [], 1: ["String"] },
  },
};

function compile(base, expression) {
  const text = expression.replace(/getReferenceKey\((\w+)\)/g, "getReferenceKey('$1')");
  return fhirpath.compile({ base, expression: text }, model, { userInvocationTable: keys });
}

// A select as a function from an element to rows; a row is an array of values at the places of its columns.
function select(part, base, names) {
  const each = part.forEach ?? part.forEachOrNull;
  if (each !== undefined && !/^\w+(\.\w+)*$/.test(each)) {
    throw new Error(`${each}: only plain paths can be entered`);
  }
  const within = each === undefined ? base : `${base}.${each}`;
  const enter = each === undefined ? undefined : compile(base, each);
  const factors = [];
  if (part.column) {
    const columns = part.column.map(({ name, path }) => [place(names, name), compile(within, path), name]);
    factors.push((element) => [
      columns.map(([at, path, name]) => {
        const values = element === undefined ? [] : path(element);
        if (values.length > 1) {
          throw new Error(`${name} has more than one value`);
        }
        return [at, values[0]];
      }),
    ]);
  }
  for (const inner of part.select ?? []) {
    factors.push(select(inner, within, names));
  }
  if (part.unionAll) {
    const branches = part.unionAll.map((inner) => select(inner, within, names));
    factors.push((element) => branches.flatMap((branch) => branch(element)));
  }
  const rows = (element) =>
    factors.reduce((rows, factor) => {
      const others = factor(element);
      return rows.flatMap((row) => others.map((other) => [...row, ...other]));
    }, [[]]);
  if (enter === undefined) {
    return rows;
  }
  return (element) => {
    const elements = element === undefined ? [] : enter(element);
    return elements.length === 0 && part.forEachOrNull !== undefined ? rows(undefined) : elements.flatMap(rows);
  };
}

function place(names, name) {
  const at = names.indexOf(name);
  return at === -1 ? names.push(name) - 1 : at;
}

function field(value) {
  const text = value === undefined || value === null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

async function main() {
  const [viewPath, source, out] = process.argv.slice(2);
  const view = JSON.parse(fs.readFileSync(viewPath, "utf8"));
  const names = [];
  const filters = (view.where ?? []).map(({ path }) => compile(view.resource, path));
  const rows = select({ select: view.select }, view.resource, names);
  const file = fs.openSync(out, "w");
  let failed = 0;
  let text = names.map(field).join(",") + "\n";
  const lines = readline.createInterface({ input: fs.createReadStream(source), crlfDelay: Infinity });
  for await (const line of lines) {
    if (line === "") {
      continue;
    }
    const resource = JSON.parse(line);
    try {
      if (!filters.every((filter) => filter(resource)[0] === true)) {
        continue;
      }
    } catch (error) {
      // Version 3.9 fails if a compared date has an extension and no value.
      failed += 1;
      continue;
    }
    for (const row of rows(resource)) {
      const fields = new Array(names.length).fill("");
      for (const [at, value] of row) {
        fields[at] = field(value);
      }
      text += fields.join(",") + "\n";
    }
    if (text.length > 1 << 16) {
      fs.writeSync(file, text);
      text = "";
    }
  }
  fs.writeSync(file, text);
  fs.closeSync(file);
  if (failed > 0) {
    console.error(`left out ${failed} resources on which a where failed`);
  }
}

main();
