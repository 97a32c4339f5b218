// overloaded_tonic PORT WORKERS MILLISECONDS LIMIT: what bench_overloaded serves, on tonic and tokio's current-thread
// runtime, with at most LIMIT calls at a time on each connection, above which it sheds load, or 0 for all.
use std::io::Write;
use std::time::Duration;
use tokio::sync::Semaphore;
use tonic::transport::server::TcpIncoming;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

mod helloworld {
    tonic::include_proto!("helloworld");
}

struct Greets {
    workers: Semaphore,
    time: Duration,
}

#[tonic::async_trait]
impl helloworld::greeter_server::Greeter for Greets {
    async fn say_hello(
        &self,
        request: Request<helloworld::HelloRequest>,
    ) -> Result<Response<helloworld::HelloReply>, Status> {
        let _worker = self.workers.acquire().await.map_err(|error| Status::internal(error.to_string()))?;
        tokio::time::sleep(self.time).await;
        let message = request.into_inner().name;
        Ok(Response::new(helloworld::HelloReply { message }))
    }
}

async fn serve(port: &str, limit: usize, greets: Greets) -> Result<(), Box<dyn std::error::Error>> {
    let incoming = TcpIncoming::bind(format!("127.0.0.1:{port}").parse()?)?.with_nodelay(Some(true));
    println!("listening on {}", incoming.local_addr()?);
    std::io::stdout().flush()?;
    let mut server = Server::builder();
    if limit != 0 {
        server = server.concurrency_limit_per_connection(limit).load_shed(true);
    }
    server
        .add_service(helloworld::greeter_server::GreeterServer::new(greets))
        .serve_with_incoming(incoming)
        .await?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, workers, milliseconds, limit] = arguments.as_slice() else {
        return Err("usage: overloaded_tonic PORT WORKERS MILLISECONDS LIMIT".into());
    };
    let greets = Greets { workers: Semaphore::new(workers.parse()?), time: Duration::from_millis(milliseconds.parse()?) };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(port, limit.parse()?, greets))
}
