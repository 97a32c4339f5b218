// What grpc-go's own definitions make of our channelz and of our binary logs, as JSON lines.
//
//	operator channelz ADDRESS   every server, channel, subchannel and socket, with the paging of grpcdebug
//	operator binlog FILE        every entry of a file in grpc-go's format
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc"
	binlog "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	channelz "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Prints a message, and fails if it has a field that grpc-go does not know.
func print(kind string, m proto.Message) {
	if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		check(fmt.Errorf("%s has unknown fields: %x", kind, unknown))
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	check(err)
	fmt.Printf("{\"%s\": %s}\n", kind, text)
}

func show(address string) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	client := channelz.NewChannelzClient(connection)
	about, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var sockets []*channelz.SocketRef
	for start := int64(0); ; {
		page, err := client.GetServers(about, &channelz.GetServersRequest{StartServerId: start, MaxResults: 1})
		check(err)
		for _, server := range page.Server {
			print("server", server)
			sockets = append(sockets, server.ListenSocket...)
			for from := int64(0); ; {
				some, err := client.GetServerSockets(about, &channelz.GetServerSocketsRequest{
					ServerId: server.Ref.ServerId, StartSocketId: from, MaxResults: 1})
				check(err)
				sockets = append(sockets, some.SocketRef...)
				if some.End {
					break
				}
				from = some.SocketRef[len(some.SocketRef)-1].SocketId + 1
			}
			start = server.Ref.ServerId + 1
		}
		if page.End {
			break
		}
	}
	for start := int64(0); ; {
		page, err := client.GetTopChannels(about, &channelz.GetTopChannelsRequest{StartChannelId: start, MaxResults: 1})
		check(err)
		for _, channel := range page.Channel {
			print("channel", channel)
			for _, ref := range channel.SubchannelRef {
				found, err := client.GetSubchannel(about, &channelz.GetSubchannelRequest{SubchannelId: ref.SubchannelId})
				check(err)
				print("subchannel", found.Subchannel)
				sockets = append(sockets, found.Subchannel.SocketRef...)
			}
			start = channel.Ref.ChannelId + 1
		}
		if page.End {
			break
		}
	}
	for _, ref := range sockets {
		found, err := client.GetSocket(about, &channelz.GetSocketRequest{SocketId: ref.SocketId})
		check(err)
		print("socket", found.Socket)
	}
}

func read(path string) {
	file, err := os.Open(path)
	check(err)
	from := bufio.NewReader(file)
	for {
		var length uint32
		err := binary.Read(from, binary.BigEndian, &length)
		if err == io.EOF {
			return
		}
		check(err)
		bytes := make([]byte, length)
		_, err = io.ReadFull(from, bytes)
		check(err)
		entry := &binlog.GrpcLogEntry{}
		check(proto.Unmarshal(bytes, entry))
		print("entry", entry)
	}
}

func main() {
	if len(os.Args) != 3 {
		check(fmt.Errorf("usage: operator channelz ADDRESS, operator binlog FILE"))
	}
	switch os.Args[1] {
	case "channelz":
		show(os.Args[2])
	case "binlog":
		read(os.Args[2])
	default:
		check(fmt.Errorf("unknown: %s", os.Args[1]))
	}
}
