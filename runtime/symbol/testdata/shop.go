package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

type T struct{ n int }

//go:noinline
func (t *T) Method(s []string) int {
	sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
	return len(s)
}

//go:noinline
func build(n int) []string {
	var s []string
	for i := 0; i < n; i++ {
		s = append(s, strings.Repeat(strconv.Itoa(i), 3))
	}
	return s
}
func main() {
	d := 1.0
	if len(os.Args) > 1 {
		d, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	end := time.Now().Add(time.Duration(d * 1e9))
	n := 0
	t := &T{1}
	ch := make(chan int)
	go func() {
		for time.Now().Before(end) {
			n := t.Method(build(300))
			select {
			case ch <- n:
			default:
			}
		}
		close(ch)
	}()
	for time.Now().Before(end) {
		n += t.Method(build(500))
		select {
		case x := <-ch:
			n += x
		default:
		}
	}
	fmt.Println(n)
}
