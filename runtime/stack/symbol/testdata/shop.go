// A program for tests: methods, closures, goroutines, allocation.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// T has a method.
type T struct{ calls int }

// Method sorts with a closure.
//
//go:noinline
func (t *T) Method(s []string) int {
	t.calls++
	sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
	return len(s)
}

//go:noinline
func build(n int) []string {
	var s []string
	for i := range n {
		s = append(s, strings.Repeat(strconv.Itoa(i), 3))
	}
	return s
}

var stamp time.Time

// spent is the CPU time in seconds: a busy machine makes no difference.
//
//go:noinline
func spent() float64 {
	var r syscall.Rusage
	stamp = time.Now()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

func main() {
	seconds := 0.5
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	results := make(chan int)
	go func() {
		t := &T{}
		for spent() < seconds {
			n := t.Method(build(300))
			select {
			case results <- n:
			default:
			}
		}
		close(results)
	}()
	t, n := &T{}, 0
	for spent() < seconds {
		n += t.Method(build(500))
		select {
		case x := <-results:
			n += x
		default:
		}
	}
	fmt.Println(n)
}
