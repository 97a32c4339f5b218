# The movie service on Ruby's gRPC, with its movies in memory: movie_server.rb CLASSES [CERTIFICATE KEY]
require_relative "movie"

class Shelf < Movies::Service
  def initialize
    @lock = Mutex.new
    @movies = {}
    @views = Hash.new(0)
  end

  def add_movie(movie, _call)
    raise GRPC::InvalidArgument, "a movie needs a title" if movie.title.empty?

    Movie::AddMovieResponse.new(movie_id: keep(movie))
  end

  def add_multiple_movies(call)
    upload = call.each_remote_read.to_a
    Movie::AddMultipleMoviesResponse.new(movie_ids: upload.map { |movie| keep(movie) })
  end

  def list_movies(request, _call)
    movies = @lock.synchronize { @movies.values }
    Enumerator.new do |replies|
      movies.each do |movie|
        sleep(request.pause_ms / 1000.0)
        replies << movie
      end
    end
  end

  def watch_together(requests, _call)
    Enumerator.new do |replies|
      requests.each { |request| replies << watch(request.movie_id) }
    end
  end

  private

  def keep(movie)
    @lock.synchronize do
      movie.id = (@movies.size + 1).to_s
      @movies[movie.id] = movie
      movie.id
    end
  end

  def watch(id)
    @lock.synchronize do
      movie = @movies[id] or raise GRPC::NotFound, "no movie has this id"
      Movie::WatchTogetherResponse.new(movie: movie, views: @views[id] += 1)
    end
  end
end

certificate, key = ARGV
credentials = :this_port_is_insecure
if certificate
  pair = { private_key: File.read(key), cert_chain: File.read(certificate) }
  credentials = GRPC::Core::ServerCredentials.new(nil, [pair], false)
end
server = GRPC::RpcServer.new(pool_size: 8, pool_keep_alive: 1)
port = server.add_http2_port("127.0.0.1:0", credentials)
server.handle(Shelf.new)
trap("TERM") { exit! 0 }
puts "listening on 127.0.0.1:#{port}"
$stdout.flush
server.run
