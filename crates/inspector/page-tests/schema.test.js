// Tests of the schema form's model: drafts, validation, alternatives.

import assert from "node:assert/strict";
import test from "node:test";

import { Draft, fresh, start } from "../page/draft.js";
import { safePattern } from "../page/formats.js";
import { choices, fitting, resolve, unchecked, validate } from "../page/schema.js";

const problems = (schema, value) => validate(schema, value).map(({ path, message }) => `${path} ${message}`.trim());

test("each keyword is checked at its place", () => {
  const cases = [
    [{ type: "integer" }, 1.5, "must be an integer, not a number"],
    [{ type: ["string", "null"] }, 1, "must be a string or null, not a number"],
    [{ enum: ["a", 1] }, "b", 'must be one of "a", 1'],
    [{ const: { a: [1] } }, { a: [2] }, 'must be {"a":[1]}'],
    [{ minLength: 2 }, "é", "must have at least 2 characters"],
    [{ maxLength: 1 }, "ab", "must have at most 1 characters"],
    [{ pattern: "^a+$" }, "b", "must match ^a+$"],
    [{ format: "email" }, "a", "must be a valid email"],
    [{ format: "date" }, "2026-02-30", "must be a valid date"],
    [{ format: "uri" }, "no", "must be a valid uri"],
    [{ minimum: 1 }, 0, "must be at least 1"],
    [{ exclusiveMaximum: 1 }, 1, "must be less than 1"],
    [{ multipleOf: 0.1 }, 0.25, "must be a multiple of 0.1"],
    [{ items: { type: "string" } }, ["a", 1], "/1 must be a string, not a number"],
    [{ prefixItems: [{ type: "string" }], items: false }, ["a", 1], "/1 no value is allowed here"],
    [{ uniqueItems: true }, [{ a: 1 }, { a: 1 }], "must not have equal items"],
    [{ contains: { const: 1 } }, [2], "must contain an item of the required kind"],
    [{ contains: { const: 1 }, minContains: 2 }, [1], "must contain at least 2 items of the required kind"],
    [{ contains: { const: 1 }, maxContains: 1 }, [1, 1], "must contain at most 1 items of the required kind"],
    [{ required: ["a"] }, {}, "/a is required"],
    [{ properties: { a: {} }, additionalProperties: false }, { b: 1 }, "/b is not a known member"],
    [{ patternProperties: { "^x": { type: "number" } } }, { x1: "" }, "/x1 must be a number, not a string"],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, "`ab` is not an allowed name"],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, "/b is required with `a`"],
    [{ not: { type: "string" } }, "", "must not be of the excluded kind"],
    [{ oneOf: [{ type: "number" }, { minimum: 0 }] }, 1, "must match exactly one of the alternatives, not 2"],
    [{ if: { properties: { a: { const: 1 } } }, then: { required: ["b"] } }, { a: 1 }, "/b is required"],
    [{ $ref: "#/$defs/n", $defs: { n: { type: "number" } } }, "", "must be a number, not a string"],
    [{ allOf: [{ minimum: 1 }, { maximum: 0 }] }, 1, "must be at most 0"],
  ];
  for (const [schema, value, expected] of cases) assert.deepEqual(problems(schema, value), [expected], JSON.stringify(schema));
});

test("valid values have no problems", () => {
  const schema = { type: "object", properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] }, when: { format: "date-time" } }, required: ["a"] };
  assert.deepEqual(problems(schema, { a: null, when: "2026-07-28T10:00:00Z" }), []);
  assert.deepEqual(problems({ multipleOf: 0.1 }, 0.3), []);
  assert.deepEqual(problems(true, 1), []);
});

test("a recursive schema ends", () => {
  const schema = { type: "object", properties: { next: { $ref: "#" } } };
  assert.deepEqual(problems(schema, { next: { next: { next: 1 } } }), ["/next/next/next must be an object, not a number"]);
  assert.equal(typeof resolve({ $ref: "#" }, { $ref: "#" }), "object");
});

test("a failed alternative reports the problem of the nearest", () => {
  const schema = { oneOf: [{ type: "string" }, { type: "object", required: ["a"], properties: { a: { type: "number" } } }] };
  assert.deepEqual(problems(schema, { a: "x" }), ["/a must be a number, not a string"]);
});

test("a pattern that could run for ever is not run", () => {
  for (const pattern of ["(a+)+$", "(a|aa)*b", "(.*)*x", "((a)b)+", "(a)\\1", "("]) assert.equal(safePattern(pattern), null, pattern);
  assert.ok(safePattern("^[A-Z]{2}\\d+$"));
});

test("a draft begins with defaults and constants", () => {
  const schema = { type: "object", required: ["kind"], properties: { kind: { const: "card" }, n: { default: 3 }, text: { type: "string" }, deep: { type: "object", properties: { x: { default: true } } } } };
  assert.deepEqual(JSON.parse(start(schema)), { kind: "card", n: 3, deep: { x: true } });
  assert.equal(fresh({ type: "array" }, {}), "[]");
  assert.equal(fresh({ enum: ["x", "y"] }, {}), '"x"');
});

test("a draft never rewrites what the user wrote", () => {
  const draft = new Draft({ type: "object" }, '{ "a":1.0,\n"b" : 2 }');
  draft.set(["b"], "3");
  assert.equal(draft.text, '{ "a":1.0,\n"b" : 3 }');
  draft.replace('{ "a": ');
  assert.match(draft.problems()[0].message, /the JSON text is invalid/);
  draft.set(["b"], "4");
  assert.equal(draft.text, '{ "a": ', "an invalid text is the user's to mend");
});

test("choices have their labels in every form", () => {
  assert.deepEqual(choices({ enum: ["a"], enumNames: ["A"] }), [{ value: "a", label: "A" }]);
  assert.deepEqual(choices({ oneOf: [{ const: "a", title: "A" }] }), [{ value: "a", label: "A" }]);
  assert.equal(choices({ oneOf: [{ type: "string" }] }), null);
});

test("the alternative of a value is found by its constants", () => {
  const options = [{ properties: { kind: { const: "card" }, n: { type: "number" } }, required: ["n"] }, { properties: { kind: { const: "cash" } } }];
  assert.equal(fitting(options, { kind: "cash" }, {}), 1);
  assert.equal(fitting(options, { kind: "card" }, {}), 0);
});

test("what is not checked is named", () => {
  const schema = { properties: { a: { unevaluatedProperties: false }, unevaluatedItems: { type: "string" } }, allOf: [{ $ref: "https://example.com/x" }, { $ref: "#/$defs/b" }], $defs: { b: { pattern: "(a+)+" }, c: { $ref: "#here" } }, enum: [{ $dynamicRef: "x" }] };
  assert.deepEqual(unchecked(schema), ["unevaluatedProperties", "$ref https://example.com/x", "pattern (a+)+", "$ref #here"]);
  assert.deepEqual(unchecked({ type: "object", properties: { a: { pattern: "^a$", minLength: 1 } }, additionalProperties: false }), []);
});
