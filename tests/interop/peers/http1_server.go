// http1_server: net/http, which says what it has read: each response has the request in its header x-saw, as JSON in
// hexadecimal. A request whose body cannot be read has none.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		saw, err := json.Marshal([]string{
			hex.EncodeToString([]byte(r.Method)), hex.EncodeToString([]byte(r.RequestURI)),
			hex.EncodeToString([]byte(r.Header.Get("a"))), hex.EncodeToString(body),
		})
		if err != nil {
			log.Fatal(err)
		}
		w.Header().Set("x-saw", hex.EncodeToString(saw))
		w.Header().Set("content-length", "0")
	}
	server := http.Server{Handler: http.HandlerFunc(answer), DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0)}
	log.Fatal(server.Serve(listener))
}
