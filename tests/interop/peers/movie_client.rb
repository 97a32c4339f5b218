# All four kinds of call and an expired deadline on Ruby's gRPC: movie_client.rb CLASSES ADDRESS [CA]
require_relative "movie"

LIMIT_S = 20
address, ca = ARGV
credentials = ca ? GRPC::Core::ChannelCredentials.new(File.read(ca)) : :this_channel_is_insecure
MOVIES = Movies::Stub.new(address, credentials, timeout: LIMIT_S)

def equal(found, wanted, what)
  raise "#{what} is #{found.inspect}, not #{wanted.inspect}" unless found == wanted
end

def fails(error)
  yield
rescue error
  nil
else
  raise "a call succeeded that should have failed with #{error}"
end

def movie(**fields) = Movie::Movie.new(**fields)

def unary
  fails(GRPC::InvalidArgument) { MOVIES.add_movie(movie) }
  MOVIES.add_movie(movie(title: "Stalker", year: 1979)).movie_id
end

def client_streaming
  reply = MOVIES.add_multiple_movies((0...100).map { |part| movie(title: "part #{part}") })
  equal(reply.movie_ids.size, 100, "the number of movies kept")
end

def server_streaming
  ids = MOVIES.list_movies(Movie::ListMoviesRequest.new).map(&:id)
  equal(ids, ids.sort, "the order of the shelf")
  equal(ids.size > 100, true, "that the whole shelf came")
end

def bidirectional(id)
  wishes = Queue.new
  requests = Enumerator.new { |all| while (wish = wishes.pop) do all << wish end }
  answers = MOVIES.watch_together(requests)
  (1..3).each do |view|
    wishes << movie(id: id)
    equal(answers.next.views, view, "the answer before the next wish")
  end
  wishes << movie(id: 1 << 40)
  fails(GRPC::NotFound) { answers.next }
  wishes << nil
end

# Of a bidirectional call: reading a server's stream past its deadline is a defect of this library's own.
def deadline
  silence = Queue.new
  requests = Enumerator.new { |_| silence.pop }
  fails(GRPC::DeadlineExceeded) { MOVIES.watch_together(requests, deadline: Time.now + 0.3).to_a }
end

id = unary
client_streaming
server_streaming
bidirectional(id)
deadline
puts "everything was right"
$stdout.flush
exit! 0
