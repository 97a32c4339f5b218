// micro [NAME...]: what bench_micro measures, by goroutines, as far as Go has it.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	samples = 101
	atLeast = 500 * time.Microsecond
)

var sink uint64

func spawnJoin(times int) {
	var joined sync.WaitGroup
	for i := 0; i < times; i++ {
		joined.Add(1)
		go func() {
			sink++
			joined.Done()
		}()
		joined.Wait()
	}
}

func mutex(times int) {
	var free sync.Mutex
	for i := 0; i < times; i++ {
		free.Lock()
		sink++
		free.Unlock()
	}
}

func channelOneTask(times int) {
	through := make(chan uint64, 16)
	for i := 0; i < times; i++ {
		through <- uint64(i)
		sink += <-through
	}
}

func channelTwoTasks(times int) {
	through := make(chan uint64, 16)
	go func() {
		for i := 0; i < times; i++ {
			through <- uint64(i)
		}
		close(through)
	}()
	for message := range through {
		sink += message
	}
}

// To a goroutine on another thread and back, while both have nothing else to do.
func crossLoop(times int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	there, back := make(chan uint64), make(chan uint64)
	go func() {
		runtime.LockOSThread()
		for message := range there {
			back <- message
		}
	}()
	for i := 0; i < times; i++ {
		there <- uint64(i)
		sink += <-back
	}
	close(there)
}

func measure(name string, repeat func(times int)) {
	var taken []float64
	for times := 16; len(taken) < samples; {
		start := time.Now()
		repeat(times)
		all := time.Since(start)
		if all < atLeast {
			times *= 2
		} else {
			taken = append(taken, float64(all.Nanoseconds())/float64(times))
		}
	}
	slices.Sort(taken)
	fmt.Printf("%s %.2f %.2f %.2f\n", name, taken[samples/2], taken[0], taken[samples-1])
}

func main() {
	wanted := os.Args[1:]
	for _, one := range []struct {
		name   string
		repeat func(times int)
	}{
		{"spawn_join", spawnJoin},
		{"mutex", mutex},
		{"channel_one_task", channelOneTask},
		{"channel_two_tasks", channelTwoTasks},
		{"cross_loop", crossLoop},
	} {
		if len(wanted) == 0 || slices.Contains(wanted, one.name) {
			measure(one.name, one.repeat)
		}
	}
}
