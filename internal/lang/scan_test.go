package lang_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// Kinds of JavaScript, as the plan's files show them.
const (
	jsScript = "main.js"
	jsModule = "main.mjs"
	jsMixed  = ".commonjs.cjs main.mjs"
)

func javaScripts() map[string]string {
	return map[string]string{
		"":                                jsScript,
		"1 + 1":                           jsScript,
		"require('x')":                    jsScript,
		"import 'x'":                      jsModule,
		"import x from 'x'":               jsModule,
		"import * as x from 'x'":          jsModule,
		"import{x}from'x'":                jsModule,
		"#!/usr/bin/env node\nimport 'x'": jsModule,
		"/* c */ import 'x'":              jsModule,
		"import('x')":                     jsScript,
		"import ('x')":                    jsScript,
		"function f() { return import.meta.url }": jsModule,
		"export default 1":                        jsModule,
		"export {}":                               jsModule,
		"export const x = 1":                      jsModule,
		"x.export = 1; x.import('y')":             jsScript,
		"({ import: 1, export: 2 })":              jsScript,
		"await 1":                                 jsModule,
		"await f()":                               jsModule,
		"const x = await f()":                     jsModule,
		"if (a) { await b }":                      jsModule,
		"if (a) await b":                          jsModule,
		"try { await b } catch { await c } finally { }":                 jsModule,
		"for (const x of y) { await x }":                                jsModule,
		"for await (const x of y) {}":                                   jsModule,
		"while (await f()) ;":                                           jsModule,
		"label: { await b }":                                            jsModule,
		"switch (x) { case 1: { await y } }":                            jsModule,
		"[await 1]":                                                     jsModule,
		"({ a: await 1 })":                                              jsModule,
		"f(await g())":                                                  jsModule,
		"`${await 1}`":                                                  jsModule,
		"`${`${await 1}`}`":                                             jsModule,
		"async function f() { await 1 }":                                jsScript,
		"async function f() { if (a) { await 1 } }":                     jsScript,
		"(async () => { await 1 })()":                                   jsScript,
		"(async function () { await 1 })()":                             jsScript,
		"const f = async () => await 1":                                 jsScript,
		"const f = async () => await 1;\nawait f()":                     jsModule,
		"const f = async () => await 1\nawait f()":                      jsModule,
		"const f = async () =>\n  await 1":                              jsScript,
		"const f = async () => g(await 1, await 2)":                     jsScript,
		"g(async () => await 1, await 2)":                               jsModule,
		"const f = async x => ({ a: await x })":                         jsScript,
		"const f = x => async y => await x":                             jsScript,
		"const o = { async f() { await 1 } }":                           jsScript,
		"class A { async f() { await 1 } }":                             jsScript,
		"class A extends B { static async f() { await 1 } static { } }": jsScript,
		"class A extends mixin(B) { async *[Symbol.iterator]() { await 1 } }\nawait 2": jsModule,
		"const A = class { async f() { await 1 } }":                                    jsScript,
		"'await 1'; \"import 'x'\"; `export {}`":                                       jsScript,
		"// await 1\n/* import 'x' */":                                                 jsScript,
		"/await 1/.test(x)":                                                            jsScript,
		"x = a / b; await c; d / e":                                                    jsModule,
		"if (x) /await '/.test(y)\nawait z":                                            jsModule,
		"x = /[/'\"`]/; await y":                                                       jsModule,
		"return /`/":                                                                   jsScript,
		"a = b\n/c/.test('`')":                                                         jsScript,
		"x++ / 2; '/'; await y":                                                        jsModule,
		"})]); await x":                                                                jsModule,
		"const await = 1":                                                              jsScript,
		"await: for (;;) break await":                                                  jsScript,
		"x.await(1)":                                                                   jsScript,
		"const fs = require('fs')\nawait 1":                                            jsMixed,
		"import 'x'\nmodule.exports = 1":                                               jsMixed,
		"import 'x'\nconsole.log(__dirname)":                                           jsMixed,
		"import 'x'\nfoo.module; ({ require: 1, exports: 2 })":                         jsModule,
		"function* g() { yield /await '/ }":                                            jsScript,
		"const x = y ? await z : 0":                                                    jsModule,
		"const π = 1; await π":                                                         jsModule,
		"const s = 'unterminated\nawait x":                                             jsModule,
		"`unterminated ${ await":                                                       jsScript,
		"a?.import; b?.await":                                                          jsScript,
		"export":                                                                       jsModule,
		"var x = { get import() { return 1 } }":                                        jsScript,
		"new Promise(async (resolve) => { await 1; resolve() })":                       jsScript,
		"if (a) { } else { }\n{ await 1 }":                                             jsModule,
		"async () => { } ; await 1":                                                    jsModule,
		"items.map(async x => { await x }).filter(Boolean)":                            jsScript,
	}
}

func fileNames(tb testing.TB, language, code string) string {
	tb.Helper()
	plan, err := lookup(tb, language).Plan(input(code))
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, f := range plan.Files {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}

func TestJavaScriptKind(t *testing.T) {
	t.Parallel()
	for code, want := range javaScripts() {
		if got := fileNames(t, "javascript", code); got != want {
			t.Errorf("%q: %s, want %s", code, got, want)
		}
	}
}

func TestJavaOutline(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ code, files, class string }{
		{"", "Main.java", "Main"},
		{"public class Hello { public static void main(String[] args) {} }", "Hello.java", "Hello"},
		{"class Hello { public static void main(String[] args) {} }", "Hello.java", "Hello"},
		{"package a.b . c ; class X { static public void main(String... a) {} }", "X.java", "a.b.c.X"},
		{"@Deprecated package a; class X { }", "X.java", "a.X"},
		{"class A {} class B { public static void main(String[] a) {} }", "B.java", "B"},
		{"public class A {} class B { public static void main(String[] a) {} }", "A.java", "B"},
		{"class A { void main() {} } class B { public static void main(String[] a) {} }", "B.java", "B"},
		{"class A { static void main(String[] a) {} } class Main { public static void main(String[] a) {} }", "Main.java", "Main"},
		{"class A { public static void main(int x) {} } class B { void main() {} }", "B.java", "B"},
		{"class A { private static void main(String[] a) {} } class B { void main() {} }", "B.java", "B"},
		{"class A { int main(String[] a) { return 1; } } class B { void main() {} }", "B.java", "B"},
		{"class A { String s = \"class X { void main() {} }\"; char c = '{'; } class B { void main() {} }", "B.java", "B"},
		{"class A { /* } */ void f() { class Local { void main() {} } } } class B { void main() {} }", "B.java", "B"},
		{"class A { Object o = new Object() { public void main() {} }; } class B { void main() {} }", "B.java", "B"},
		{"enum E { X { void f() {} }; public static void main(String[] a) {} }", "E.java", "E"},
		{"interface I { static void main(String[] a) {} }", "I.java", "I"},
		{"@interface N { int value() default 1; } record R<T>(T x) { public static void main(String[] a) {} }", "R.java", "R"},
		{"class A { int record = f(record); void f(int record) { record(1); } public static void main(String[] a) {} }", "A.java", "A"},
		{"class Outer { static class In { public static void main(String[] a) {} } }", "Outer.java", "Outer$In"},
		{"class Outer { interface Mid { class In { public static void main(String[] a) {} } } }", "Outer.java", "Outer$Mid$In"},
		{"class $A_1 { public static void main(String[] a) {} }", "$A_1.java", "$A_1"},
		{"public class Größe { public static void main(String[] a) {} }", "Größe.java", "Größe"},
		{"void main() { } class P { void main() {} }", "Main.java", "Main"},
		{"System.out.println(P.class);", "Main.java", "Main"},
		{"public class A {} public class B { public static void main(String[] a) {} }", "A.java B.java", "B"},
		{"public class A {} public class A { public static void main(String[] a) {} }", "A.java", "A"},
		{"public class " + strings.Repeat("x", 300) + " {}", "Main.java", strings.Repeat("x", 300)},
		{"class", "Main.java", "Main"},
		{"}}}} class A { public static void main(String[] a) {} }", "A.java", "A"},
		{"class A { public static void main(String[] a) {", "A.java", "A"},
		{"sealed interface S permits T {} final class T implements S { public static void main(String[] a) {} }", "T.java", "T"},
	} {
		plan, err := lookup(t, "java").Plan(input(test.code))
		if err != nil {
			t.Fatal(err)
		}
		args := plan.Steps[1].Args
		if files, class := fileNames(t, "java", test.code), args[len(args)-1]; files != test.files || class != test.class {
			t.Errorf("%.70q:\n got %s, %s\nwant %s, %s", test.code, files, class, test.files, test.class)
		}
	}
}

func TestGoFiles(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"package main":                           "main.go go.mod",
		"":                                       "main.go go.mod",
		"-- a.go --\npackage main\n-- b.go --\n": "a.go b.go go.mod",
		"package main\n-- b.go --\n":             "main.go b.go go.mod",
		"\n\n-- go.mod --\nmodule x\n-- a/b.go --\n":     "go.mod a/b.go",
		"-- a.txt --\n`\n-- b.go --\n`\n-- c.go --\n`\n": "a.txt b.go go.mod",
		"x := `\n-- a.go --\n`":                          "main.go go.mod",
		"/*\n-- a.go --\n*/":                             "main.go go.mod",
		"// `\n-- a.go --\n":                             "main.go a.go go.mod",
		"x := \"`\"\n-- a.go --\n":                       "main.go a.go go.mod",
		"x := '`'\n-- a.go --\n":                         "main.go a.go go.mod",
		"x := '\\''\n-- a.go --\n":                       "main.go a.go go.mod",
		"x--\n-- a b --\n--  --\n-- x--\n --  y --\n":    "main.go go.mod",
		"-- a.go --  \r\npackage main\r\n":               "a.go go.mod",
	} {
		if got := fileNames(t, "go", code); got != want {
			t.Errorf("%q: %s, want %s", code, got, want)
		}
	}
}

func TestSourceText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, code, want string }{
		{"as it is", "print(1)", "print(1)"},
		{"mark", "\ufeffprint(1)\n", "print(1)\n"},
		{"CRLF", "a\r\nb\r\n", "a\nb\n"},
		{"CR alone", "a = 'x\ry'", "a = 'x\ry'"},
		{"fence", "```python\nprint(1)\n```\n", "print(1)\n"},
		{"fence without name", "```\nprint(1)\n```", "print(1)\n"},
		{"fence and blank lines", "\n\n```py\nprint(1)\n```\n\n", "print(1)\n"},
		{"fence with CRLF and mark", "\ufeff```python\r\nprint(1)\r\n```\r\n", "print(1)\n"},
		{"longer fence", "````\n```\n````", "```\n"},
		{"tildes", "~~~python\nx\n~~~", "x\n"},
		{"empty fence", "```\n```", "\n"},
		{"unclosed", "```python\nx\n", "```python\nx\n"},
		{"two blocks", "```\nx\n```\n```\ny\n```", "```\nx\n```\n```\ny\n```"},
		{"text around", "Here:\n```\nx\n```", "Here:\n```\nx\n```"},
		{"fence in a line", "```x```", "```x```"},
		{"text after the name", "``` python code here\nx\n```", "``` python code here\nx\n```"},
		{"mixed fence", "``~\nx\n``~", "``~\nx\n``~"},
		{"indented", "    a\n      b\n\n    c\n", "a\n  b\n\nc\n"},
		{"tabs", "\ta\n\t\tb\n", "a\n\tb\n"},
		{"tabs and spaces share nothing", "\ta\n    b\n", "\ta\n    b\n"},
		{"partly indented", "  a\nb\n", "  a\nb\n"},
		{"blank lines do not count", "  a\n\n \n  b", "a\n\n \nb"},
		{"blank only", "  \n  ", "  \n  "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plan, err := lookup(t, "python").Plan(input(test.code))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(plan.Files[0].Data)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Sources that take a scanner forever, or all memory, if it looks at anything more than a few times.
func TestHostileSource(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for _, part := range []string{
		"(", "{", "[", "}", "`${", "/[", "/*", "\"", "'", "`", "\n", " ", "\t", "\\", "a=>", "await ", "import ", "record ", "class a", "class a{",
		"class a{class", "void main()", "public class a{}", "public class a%d{}", "record a/**/", "-- a.go --\n", "-- a%d.go --\n", "x := `\n-- a.go --\n",
		"/*\n-- a.go --\n", "~~~\n", "```\n", "x--\n", "  a\n", "package a.", "import a;", "@a(", "a/b", "\"\"\"", "async () => await ", "#", "é",
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			var code strings.Builder
			for i := 0; code.Len() < size; i++ {
				code.WriteString(strings.ReplaceAll(part, "%d", strconv.Itoa(i)))
			}
			for _, name := range lang.Builtin().Names() {
				plan, err := lookup(t, name).Plan(input(code.String()))
				total := 0
				for _, f := range plan.Files {
					total += len(f.Data)
				}
				if total > 20*size || err != nil && name != "go" {
					t.Errorf("%s: files of %d bytes, error %v", name, total, err)
				}
			}
		})
	}
}

// FuzzPlan feeds any text to every language: a plan comes back, soon, with files that stay in the
// working directory.
func FuzzPlan(f *testing.F) {
	for code := range javaScripts() {
		f.Add(code)
	}
	f.Add("public class A {} /* */ public class B { record R(int x) {} static void main(String[] a) {} }")
	f.Add("-- ../a.go --\n-- b.go --\npackage main")
	f.Add("```\n\tx\n```")
	f.Add("`${`${`${/[}]/}`}`}`")
	f.Fuzz(func(t *testing.T, code string) {
		for _, name := range lang.Builtin().Names() {
			plan, err := lookup(t, name).Plan(input(code))
			if err != nil {
				if name != "go" {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			var names []string
			for _, file := range plan.Files {
				if !safeName(file.Name) || slices.Contains(names, file.Name) {
					t.Errorf("%s: file %q", name, file.Name)
				}
				names = append(names, file.Name)
				if len(file.Data) > len(code)+2000 {
					t.Errorf("%s: file %q has %d bytes for %d of code", name, file.Name, len(file.Data), len(code))
				}
			}
			if len(plan.Steps) == 0 {
				t.Errorf("%s: no steps", name)
			}
			for _, step := range plan.Steps {
				if slices.ContainsFunc(append(step.Args, step.Env...), func(s string) bool { return strings.Contains(s, "\x00") }) {
					t.Errorf("%s: step %s holds a null byte: %q", name, step.Name, fmt.Sprint(step.Args))
				}
			}
		}
	})
}

func safeName(name string) bool {
	return name != "" && name[0] != '/' && !strings.ContainsAny(name, "\\\x00") &&
		!slices.Contains(strings.Split(name, "/"), "..") && !slices.Contains(strings.Split(name, "/"), "")
}
