// echo PORT BUFSIZE: TCP echo, a goroutine a connection.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
)

func serve(peer net.Conn, bufferBytes int) {
	defer peer.Close()
	buffer := make([]byte, bufferBytes)
	for {
		got, err := peer.Read(buffer)
		if err != nil {
			return
		}
		if _, err := peer.Write(buffer[:got]); err != nil {
			return
		}
	}
}

func main() {
	bufferBytes, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	for {
		peer, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(peer, bufferBytes)
	}
}
