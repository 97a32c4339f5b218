// Streams of each kind that a server requests by queues.
#include "server_queues_cases.hpp"

#include <string>

namespace call_kinds::server_queues {
namespace {

// --- streams of replies

void call_server_stream(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto reader = c.stub->ServerStream(&context, query("x"));
  Reply reply;
  std::string numbers;
  while (reader->Read(&reply)) numbers += std::to_string(reply.number());
  const grpc::Status s = reader->Finish();
  say(name, numbers, shown(s), own(context.GetServerInitialMetadata()),
      own(context.GetServerTrailingMetadata()));
}

void serve_server_stream(serving& s, const std::string& name) {
  held_server_stream call(s);
  std::string events = call.next();
  call.context.AddInitialMetadata("own-initial", "a");
  Reply reply;
  for (int i = 0; i < 3; ++i) {
    reply.set_number(i);
    events += " " + call.write(reply, 2);
  }
  call.context.AddTrailingMetadata("own-trailing", "b");
  const std::string ended = call.end(3, grpc::Status(grpc::StatusCode::ABORTED, "enough"));
  say(name, call.asked.ask(), events, ended, call.context.IsCancelled());
}

void serve_server_stream_with_last_message(serving& s, const std::string& name) {
  held_server_stream call(s);
  std::string events = call.next();
  Reply reply;
  reply.set_number(7);
  call.stream.WriteLast(reply, grpc::WriteOptions(), tagged(2));
  events += " " + call.next();
  const std::string ended = call.end(3, grpc::Status::OK);
  say(name, events, ended);
}

void serve_server_stream_with_one_end(serving& s, const std::string& name) {
  held_server_stream call(s);
  std::string events = call.next();
  call.context.AddInitialMetadata("own-initial", "a");
  call.context.AddTrailingMetadata("own-trailing", "b");
  Reply reply;
  reply.set_number(8);
  call.stream.WriteAndFinish(reply, grpc::WriteOptions(), grpc::Status::OK, tagged(3));
  const std::string ended = call.next(2);
  say(name, events, ended);
}

void serve_server_stream_without_messages(serving& s, const std::string& name) {
  held_server_stream call(s);
  std::string events = call.next();
  call.context.AddInitialMetadata("own-initial", "a");
  const std::string ended = call.end(3, grpc::Status::OK);
  say(name, events, ended);
}

void serve_server_stream_cancelled_by_client(serving& s, const std::string& name) {
  held_server_stream call(s);
  const std::string begun = call.next();
  Reply reply;
  call.stream.Write(reply, tagged(2));
  // The client may have cancelled before the event of what it has seen.
  const std::string first_and_done = call.next_in_any_order(2);
  const std::string written = call.write(reply, 3);
  call.stream.Finish(grpc::Status::OK, tagged(4));
  const std::string ended = call.next();
  say(name, begun, first_and_done, call.context.IsCancelled(), written, ended);
}

void call_server_stream_cancelled_by_client(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto reader = c.stub->ServerStream(&context, query("x"));
  Reply reply;
  const bool first = reader->Read(&reply);
  context.TryCancel();
  while (reader->Read(&reply)) continue;
  say(name, first, reader->Finish().error_code());
}

// --- streams of requests

void serve_client_stream(serving& s, const std::string& name) {
  held_client_stream call(s);
  std::string events = call.next();
  Position position;
  Summary summary;
  std::string last;
  for (;;) {
    last = call.read(position, 2);
    events += " " + last;
    if (last != "2+") break;
    summary.set_positions(summary.positions() + position.north());
  }
  events += " " + call.read(position, 3);
  const std::string ended = call.end(4, summary, grpc::Status::OK);
  say(name, events, ended);
}

void call_client_stream(calling& c, const std::string& name) {
  grpc::ClientContext context;
  Summary summary;
  const auto writer = c.stub->ClientStream(&context, &summary);
  Position position;
  for (int i = 1; i <= 3; ++i) {
    position.set_north(i);
    writer->Write(position);
  }
  writer->WritesDone();
  const grpc::Status s = writer->Finish();
  say(name, shown(s), summary.positions());
}

void serve_client_stream_answered_early(serving& s, const std::string& name) {
  held_client_stream call(s);
  std::string events = call.next();
  Position position;
  events += " " + call.read(position, 2);
  call.stream.FinishWithError(grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "no"), tagged(4));
  const std::string ended = call.next(2);
  const std::string after = call.read(position, 5);
  say(name, events, ended, after, call.context.IsCancelled());
}

void call_client_stream_answered_early(calling& c, const std::string& name) {
  grpc::ClientContext context;
  Summary summary;
  const auto writer = c.stub->ClientStream(&context, &summary);
  Position position;
  while (writer->Write(position)) continue;
  say(name, shown(writer->Finish()));
}

void serve_client_stream_cancelled_by_client(serving& s, const std::string& name) {
  held_client_stream call(s);
  std::string events = call.next();
  Position position;
  events += " " + call.read(position, 2);
  call.stream.SendInitialMetadata(tagged(5));
  call.stream.Read(&position, tagged(3));
  // The client may have cancelled before the event of what it has seen, and before the read.
  events += " " + call.next_in_any_order(3);
  call.stream.Finish(Summary(), grpc::Status::OK, tagged(4));
  const std::string ended = call.next();
  say(name, events, ended, call.context.IsCancelled());
}

void call_client_stream_cancelled_by_client(calling& c, const std::string& name) {
  grpc::ClientContext context;
  Summary summary;
  const auto writer = c.stub->ClientStream(&context, &summary);
  const bool first = writer->Write(Position());
  writer->WaitForInitialMetadata();  // the message was read
  context.TryCancel();
  say(name, first, writer->Finish().error_code());
}

// --- both

void serve_bidi_stream(serving& s, const std::string& name) {
  held_bidi_stream call(s);
  std::string events = call.next();
  call.context.AddInitialMetadata("own-initial", "a");
  call.stream.SendInitialMetadata(tagged(6));
  events += " " + call.next();
  Note note;
  for (int i = 0; i < 2; ++i) {
    events += " " + call.read(note, 2);
    events += " " + call.write(note_of("you said " + note.text()), 3);
  }
  events += " " + call.read(note, 4);
  call.stream.WriteAndFinish(note_of("bye"), grpc::WriteOptions(), grpc::Status::OK, tagged(5));
  const std::string ended = call.next(2);
  say(name, events, ended);
}

void call_bidi_stream(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto stream = c.stub->BidiStream(&context);
  stream->WaitForInitialMetadata();
  std::string heard;
  Note note;
  for (const char* const word : {"ahoy", "again"}) {
    stream->Write(note_of(word));
    stream->Read(&note);
    heard += note.text() + ";";
  }
  stream->WritesDone();
  while (stream->Read(&note)) heard += note.text() + ";";
  const grpc::Status s = stream->Finish();
  say(name, heard, shown(s), own(context.GetServerInitialMetadata()));
}

void serve_bidi_stream_finished_while_it_reads(serving& s, const std::string& name) {
  held_bidi_stream call(s);
  const std::string begun = call.next();
  Note note;
  call.stream.Read(&note, tagged(2));
  const std::string written = call.write(note_of("hello"), 3);
  call.stream.Finish(grpc::Status::OK, tagged(4));
  const std::string ended = call.next(3);
  say(name, begun, written, ended, call.context.IsCancelled());
}

void call_bidi_stream_finished_while_it_reads(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto stream = c.stub->BidiStream(&context);
  Note note;
  std::string heard;
  while (stream->Read(&note)) heard += note.text() + ";";
  say(name, heard, shown(stream->Finish()));
}

void serve_bidi_stream_cancelled_by_server(serving& s, const std::string& name) {
  held_bidi_stream call(s);
  const std::string begun = call.next();
  Note note;
  call.stream.Read(&note, tagged(2));
  call.context.TryCancel();
  const std::string ended = call.next(2);
  const std::string written = call.write(note, 3);
  call.stream.Finish(grpc::Status::OK, tagged(4));
  const std::string finished = call.next();
  say(name, begun, ended, written, finished, call.context.IsCancelled());
}

void call_bidi_stream_cancelled_by_server(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto stream = c.stub->BidiStream(&context);
  Note note;
  const bool read = stream->Read(&note);
  say(name, read, stream->Finish().error_code());
}

}  // namespace

cases stream_cases() {
  return {
      {"server stream", serve_server_stream, call_server_stream},
      {"server stream with a last message", serve_server_stream_with_last_message, call_server_stream},
      {"server stream with one end", serve_server_stream_with_one_end, call_server_stream},
      {"server stream without messages", serve_server_stream_without_messages, call_server_stream},
      {"server stream cancelled by the client", serve_server_stream_cancelled_by_client,
       call_server_stream_cancelled_by_client},
      {"client stream", serve_client_stream, call_client_stream},
      {"client stream answered early", serve_client_stream_answered_early, call_client_stream_answered_early},
      {"client stream cancelled by the client", serve_client_stream_cancelled_by_client,
       call_client_stream_cancelled_by_client},
      {"bidi stream", serve_bidi_stream, call_bidi_stream},
      {"bidi stream finished while it reads", serve_bidi_stream_finished_while_it_reads,
       call_bidi_stream_finished_while_it_reads},
      {"bidi stream cancelled by the server", serve_bidi_stream_cancelled_by_server,
       call_bidi_stream_cancelled_by_server}};
}

}  // namespace call_kinds::server_queues
