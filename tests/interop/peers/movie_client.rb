# Makes all four kinds of call and one whose deadline expires on Ruby's gRPC: movie_client.rb CLASSES ADDRESS [CA]
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
  MOVIES.add_movie(movie(title: "Stalker", year_of_production: 1979)).movie_id
end

def client_streaming
  reply = MOVIES.add_multiple_movies((0...100).map { |part| movie(title: "part #{part}") })
  equal(reply.movie_ids.size, 100, "the number of movies kept")
end

def server_streaming(id)
  ids = MOVIES.list_movies(Movie::ListMoviesRequest.new).map(&:id)
  equal(ids.uniq, ids, "the list of ids, each once")
  equal(ids.size > 100, true, "that all movies came")
  equal(ids.include?(id), true, "that the movie with the id #{id} is listed")
end

def watch(id) = Movie::WatchTogetherRequest.new(movie_id: id)

def bidirectional(id)
  requests = Queue.new
  all = Enumerator.new { |sent| while (request = requests.pop) do sent << request end }
  replies = MOVIES.watch_together(all)
  (1..3).each do |view|
    requests << watch(id)
    reply = replies.next
    equal([reply.views, reply.movie.year_of_production], [view, 1979], "the reply before the next request")
  end
  requests << watch("unknown")
  fails(GRPC::NotFound) { replies.next }
  requests << nil
end

# Of a bidirectional call: reading a server's stream past its deadline is a defect of this library's own.
def deadline
  silence = Queue.new
  requests = Enumerator.new { |_| silence.pop }
  fails(GRPC::DeadlineExceeded) { MOVIES.watch_together(requests, deadline: Time.now + 0.3).to_a }
end

id = unary
client_streaming
server_streaming(id)
bidirectional(id)
deadline
puts "all calls returned what was expected"
$stdout.flush
exit! 0
