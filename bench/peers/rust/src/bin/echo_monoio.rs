// echo_monoio PORT BUFSIZE: TCP echo on monoio over io_uring.
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::net::{TcpListener, TcpStream};
use std::io::Write;

async fn serve(mut peer: TcpStream, buffer_bytes: usize) -> std::io::Result<()> {
    peer.set_nodelay(true)?;
    let mut buffer: Vec<u8> = Vec::with_capacity(buffer_bytes);
    loop {
        let (got, filled) = peer.read(buffer).await;
        if got? == 0 {
            return Ok(());
        }
        let (put, sent) = peer.write_all(filled).await;
        put?;
        buffer = sent;
        buffer.clear();
    }
}

#[monoio::main(driver = "io_uring")]
async fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let buffer_bytes = arguments[2].parse().expect("BUFSIZE is a number");
    let listener = TcpListener::bind(format!("127.0.0.1:{}", arguments[1]))?;
    println!("listening on {}", listener.local_addr()?);
    std::io::stdout().flush()?;
    loop {
        let (peer, _) = listener.accept().await?;
        monoio::spawn(serve(peer, buffer_bytes));
    }
}
