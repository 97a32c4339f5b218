// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no ChannelTestPeer, since there are no registered calls: test by what the server gets"
