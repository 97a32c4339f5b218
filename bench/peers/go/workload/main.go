// workload PORT smol|big|req|resp|bidi SECONDS: what bench_workload does, on grpc-go.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"bench_peers/generated/testsvc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	smallMessages = 1000 // a round of all workloads but big
	bigMessages   = 100
	bigNumbers    = 32 * 224 * 224 / 8
)

func expectNumbers(reply *testsvc.TestResponse, count int) {
	data := reply.GetData()
	if len(data) != count || count > 0 && data[count-1] != uint64(count) {
		log.Fatalf("a reply has %d numbers, or other ones than the %d that are due", len(data), count)
	}
}

func expectNone(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func smallRequest(wanted uint64) *testsvc.TestRequest {
	return &testsvc.TestRequest{TestResponseSz: wanted, Data: []uint64{0}}
}

func together(count int, call func()) {
	var calls sync.WaitGroup
	calls.Add(count)
	for i := 0; i < count; i++ {
		go func() {
			defer calls.Done()
			call()
		}()
	}
	calls.Wait()
}

func smol(to testsvc.TestServiceClient) int {
	request := smallRequest(1)
	together(smallMessages, func() {
		reply, err := to.TestRPC(context.Background(), request)
		expectNone(err)
		expectNumbers(reply, 1)
	})
	return smallMessages
}

func big(to testsvc.TestServiceClient) int {
	together(bigMessages, func() {
		request := &testsvc.TestRequest{TestResponseSz: 1, Data: make([]uint64, bigNumbers)}
		reply, err := to.TestRPC(context.Background(), request)
		expectNone(err)
		expectNumbers(reply, 1)
	})
	return bigMessages
}

func req(to testsvc.TestServiceClient) int {
	request := smallRequest(1)
	call, err := to.TestClientStreamRPC(context.Background())
	expectNone(err)
	for i := 0; i < smallMessages; i++ {
		expectNone(call.Send(request))
	}
	reply, err := call.CloseAndRecv()
	expectNone(err)
	expectNumbers(reply, smallMessages)
	return smallMessages
}

func resp(to testsvc.TestServiceClient) int {
	call, err := to.TestServerStreamRPC(context.Background(), smallRequest(smallMessages))
	expectNone(err)
	count := 0
	for {
		reply, err := call.Recv()
		if err == io.EOF {
			break
		}
		expectNone(err)
		count++
		expectNumbers(reply, count)
	}
	expectAll(count)
	return smallMessages
}

func bidi(to testsvc.TestServiceClient) int {
	call, err := to.TestBidirectionalStreamRPC(context.Background())
	expectNone(err)
	go func() {
		request := smallRequest(1)
		for i := 0; i < smallMessages; i++ {
			expectNone(call.Send(request))
		}
		expectNone(call.CloseSend())
	}()
	count := 0
	for ; ; count++ {
		reply, err := call.Recv()
		if err == io.EOF {
			break
		}
		expectNone(err)
		expectNumbers(reply, 1)
	}
	expectAll(count)
	return smallMessages
}

func expectAll(count int) {
	if count != smallMessages {
		log.Fatal("replies are missing")
	}
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	expectNone(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func main() {
	workloads := map[string]func(testsvc.TestServiceClient) int{"smol": smol, "big": big, "req": req, "resp": resp, "bidi": bidi}
	if len(os.Args) != 4 || workloads[os.Args[2]] == nil {
		log.Fatal("usage: workload PORT smol|big|req|resp|bidi SECONDS")
	}
	seconds, err := strconv.ParseFloat(os.Args[3], 64)
	expectNone(err)
	connection, err := grpc.NewClient("127.0.0.1:"+os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	expectNone(err)
	to, one := testsvc.NewTestServiceClient(connection), workloads[os.Args[2]]

	// The first round connects and warms up, and does not count.
	one(to)
	began, cpuBefore, messages := time.Now(), cpuSeconds(), 0
	for time.Since(began).Seconds() < seconds {
		messages += one(to)
	}
	fmt.Printf("%d %.6f %.6f\n", messages, time.Since(began).Seconds(), cpuSeconds()-cpuBefore)
}
