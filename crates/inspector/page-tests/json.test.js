// Tests of the page's own JSON: spelling and order stay, edits touch only their place.

import assert from "node:assert/strict";
import test from "node:test";

import { removeAt, setAt } from "../page/edit.js";
import { parse, pretty, Raw, tryParse, write } from "../page/json.js";

test("numbers keep their spelling and keys their order", () => {
  const source = '{"b": 1.0, "a": 12345678901234567890, "b2": -0.0e+10}';
  const node = parse(source);
  assert.deepEqual(node.names, ["b", "a", "b2"]);
  assert.deepEqual(node.items.map((item) => item.raw), ["1.0", "12345678901234567890", "-0.0e+10"]);
  assert.equal(pretty(node), '{\n  "b": 1.0,\n  "a": 12345678901234567890,\n  "b2": -0.0e+10\n}');
});

test("what JSON.parse refuses is refused, and the rest is equal", () => {
  const good = ["0", "-1e3", '"\\u00e9\\n"', "[]", "[1,[2,{}]]", '{"a":{"b":[true,false,null]}}', " \t\n1 ", '"\\\\"', '""'];
  for (const text of good) assert.deepEqual(parse(text).value, JSON.parse(text), text);
  const bad = ["", "{", "[1,]", "{,}", '{"a" 1}', "01", "1.", ".5", "+1", "'a'", '"\t"', '"\\x"', "tru", "nulll", "1 2", '{"a":1,}', "[1 2]", "undefined"];
  for (const text of bad) {
    assert.throws(() => JSON.parse(text), text);
    assert.throws(() => parse(text), text);
  }
});

test("a deep text is refused instead of overflowing the stack", () => {
  assert.throws(() => parse("[".repeat(100_000)), /nesting/);
});

test("strings of megabytes are read", () => {
  const long = JSON.stringify("x\\\"".repeat(1_000_000));
  assert.equal(parse(long).raw.length, long.length);
});

test("an error names its place", () => {
  assert.throws(() => parse('{\n  "a": 1,\n  "b": tru\n}'), /line 3, column 8/);
});

test("raw parts are written as they stand", () => {
  assert.equal(write({ name: "sum", arguments: new Raw('{"a": 1.0}'), none: undefined }), '{"name":"sum","arguments":{"a": 1.0}}');
});

test("a set member leaves the rest as it was written", () => {
  const text = '{\n    "a": 1.0,   "b" : [ 1,2 ]\n}';
  assert.equal(setAt(text, ["a"], "2"), '{\n    "a": 2,   "b" : [ 1,2 ]\n}');
  assert.equal(setAt(text, ["b", 1], "7"), '{\n    "a": 1.0,   "b" : [ 1,7 ]\n}');
  assert.equal(setAt(text, ["b", 2], "3"), '{\n    "a": 1.0,   "b" : [ 1,2, 3 ]\n}');
  assert.equal(setAt("", ["a"], "1"), '{\n  "a": 1\n}');
  assert.deepEqual(JSON.parse(setAt("{}", ["x", "y", 0, "z"], "1")), { x: { y: [{ z: 1 }] } });
});

test("a removed member takes its comma along", () => {
  assert.equal(removeAt('{"a": 1, "b": 2, "c": 3}', ["b"]), '{"a": 1, "c": 3}');
  assert.equal(removeAt('{"a": 1, "b": 2}', ["b"]), '{"a": 1}');
  assert.equal(removeAt('{"a": 1}', ["a"]), "{}");
  assert.equal(removeAt("[1, 2, 3]", [0]), "[2, 3]");
  assert.equal(removeAt('{"a": 1}', ["x"]), '{"a": 1}');
});

test("any sequence of edits gives a valid text with the expected value", () => {
  let seed = 7;
  const random = (limit) => (seed = (seed * 1103515245 + 12345) % 2147483648) % limit;
  let text = "{}";
  const model = {};
  for (let i = 0; i < 2000; i++) {
    const name = `k${random(6)}`;
    if (random(3)) {
      const value = [String(random(100)), '"s"', "[1, 2]", '{ "n": null }'][random(4)];
      text = setAt(text, [name], value);
      model[name] = JSON.parse(value);
    } else {
      text = removeAt(text, [name]);
      delete model[name];
    }
    assert.ok(tryParse(text), text);
    assert.deepEqual(JSON.parse(text), model);
  }
});
