package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	_, err := net.Interfaces()
	check(err)
	check(exec.Command("true").Run())
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			f, err := os.CreateTemp(".", "")
			check(err)
			check(f.Close())
		})
	}
	wait.Wait()
	server := httptest.NewServer(http.NotFoundHandler())
	_, err = http.Get(server.URL)
	check(err)
	to, err := os.Create("copy")
	check(err)
	from, err := os.Open("/proc/self/exe")
	check(err)
	_, err = io.Copy(to, from)
	check(err)
	fmt.Println("ok")
}
