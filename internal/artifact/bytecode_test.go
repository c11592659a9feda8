package artifact_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write hooks/bytecode anew with the Pythons in PATH (python3.8 and later)")

// compileHook prints whether the bytecode in argument 2 is what this Python makes of the source in
// argument 1, or writes it there if there is a third argument. It is never checked against the source's
// time when it is loaded, so that it holds wherever it is unpacked.
const compileHook = `
import importlib.util, marshal, os, sys
source = open(sys.argv[1], "rb").read()
code = compile(source, os.path.basename(sys.argv[1]), "exec", dont_inherit=True, optimize=0)
head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source)
if len(sys.argv) > 3:
    open(sys.argv[2], "wb").write(head + marshal.dumps(code))
data = open(sys.argv[2], "rb").read()
print(data[:16] == head and marshal.loads(data[16:]) == code, end="")
`

// TestBytecode holds the compiled sitecustomize.py equal to its source, for the versions of Python that
// are here.
func TestBytecode(t *testing.T) {
	t.Parallel()
	source := filepath.Join("hooks", "python", "sitecustomize.py")
	found := 0
	for minor := 8; minor < 30; minor++ {
		interpreter, err := exec.LookPath(fmt.Sprintf("python3.%d", minor))
		if err != nil || !works(interpreter, "-c", "pass") {
			continue
		}
		args := []string{"-c", compileHook, source, filepath.Join("hooks", "bytecode", fmt.Sprintf("sitecustomize.cpython-3%d.pyc", minor))}
		if *update {
			args = append(args, "write")
		} else if _, err := os.Stat(args[3]); err != nil {
			continue // A version that was not there when the bytecode was made compiles the source itself.
		}
		found++
		if out, err := exec.Command(interpreter, args...).CombinedOutput(); err != nil || string(out) != "True" {
			t.Errorf("%s is not what %s makes of %s (%s, %v); run go test ./internal/artifact -run Bytecode -update",
				args[3], interpreter, source, out, err)
		}
	}
	if found == 0 {
		missing(t, "python", "no python3.8 or later in PATH")
	}
}
