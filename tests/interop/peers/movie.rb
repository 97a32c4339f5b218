# What client and server share: the classes that protoc made of the example's .proto, in the folder of the first word,
# and the service's description.
require "grpc"
require File.join(ARGV.shift, "movie_pb")

module Movies
  class Service
    include GRPC::GenericService
    self.marshal_class_method = :encode
    self.unmarshal_class_method = :decode
    self.service_name = "movie.MovieService"

    rpc :AddMovie, ::Movie::Movie, ::Movie::AddMovieResponse
    rpc :AddMultipleMovies, stream(::Movie::Movie), ::Movie::AddMultipleMoviesResponse
    rpc :ListMovies, ::Movie::ListMoviesRequest, stream(::Movie::Movie)
    rpc :WatchTogether, stream(::Movie::WatchTogetherRequest), stream(::Movie::WatchTogetherResponse)
  end

  Stub = Service.rpc_stub_class
end
