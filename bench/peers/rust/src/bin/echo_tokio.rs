// echo_tokio PORT BUFSIZE: TCP echo on tokio's current-thread runtime.
use std::io::Write;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn serve(mut peer: TcpStream, buffer_bytes: usize) -> std::io::Result<()> {
    peer.set_nodelay(true)?;
    let mut buffer = vec![0; buffer_bytes];
    loop {
        let got = peer.read(&mut buffer).await?;
        if got == 0 {
            return Ok(());
        }
        peer.write_all(&buffer[..got]).await?;
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let buffer_bytes = arguments[2].parse().expect("BUFSIZE is a number");
    let listener = TcpListener::bind(format!("127.0.0.1:{}", arguments[1])).await?;
    println!("listening on {}", listener.local_addr()?);
    std::io::stdout().flush()?;
    loop {
        let (peer, _) = listener.accept().await?;
        tokio::spawn(serve(peer, buffer_bytes));
    }
}
