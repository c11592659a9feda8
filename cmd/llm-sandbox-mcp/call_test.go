package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkCall measures, in turns, a call over stdio in a fresh sandbox and the same program under the
// plain interpreter or compiler of the host. x-bare is the ratio of the medians.
func BenchmarkCall(b *testing.B) {
	const python = "/usr/bin/python3"
	figure := "import pandas as pd\nimport matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n" +
		"pd.DataFrame({'a': [1, 3, 2]}).plot()\nplt.savefig('plot.png')\n"
	for _, bench := range []struct {
		name, language, code string
		bare                 []string // the program's file is appended
	}{
		{"print", "python", "print(1)\n", []string{python}},
		{"figure", "python", figure, []string{python}},
		{"javascript", "javascript", "console.log(1)\n", []string{"/usr/bin/node"}},
		{"ruby", "ruby", "puts 1\n", []string{"/usr/bin/ruby"}},
		{"r", "r", "cat(1)\n", []string{"/usr/bin/Rscript"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			if _, err := os.Stat(bench.bare[0]); err != nil {
				b.Skip(err)
			}
			s := startServer(b, "BACKEND=native")
			file := filepath.Join(b.TempDir(), "main")
			if err := os.WriteFile(file, []byte(bench.code), 0o600); err != nil {
				b.Fatal(err)
			}
			execute(b, s, bench.language, bench.code, time.Minute) // finds the runtime
			var calls, runs []time.Duration
			for b.Loop() {
				start := time.Now()
				if r := execute(b, s, bench.language, bench.code, time.Minute); r.ExitCode != 0 {
					b.Fatalf("got %+v", r)
				}
				calls = append(calls, time.Since(start))
				start = time.Now()
				bare := exec.CommandContext(b.Context(), bench.bare[0], file)
				bare.Dir = filepath.Dir(file)
				if out, err := bare.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				runs = append(runs, time.Since(start))
			}
			call, run := median(calls), median(runs)
			b.ReportMetric(call.Seconds()*1000, "ms/call")
			b.ReportMetric(run.Seconds()*1000, "ms/bare")
			b.ReportMetric(float64(call)/float64(run), "x-bare")
		})
	}
}
