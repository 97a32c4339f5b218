// greeter_tonic PORT current|multi [CERT KEY]: what bench_greeter serves, on tonic; on tokio's current-thread runtime or
// on the one of many threads, with its default of them.
use std::io::Write;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

mod helloworld {
    tonic::include_proto!("helloworld");
}
mod idle {
    tonic::include_proto!("idle");
}
mod orders {
    tonic::include_proto!("orders");
}

struct Greets;

#[tonic::async_trait]
impl helloworld::greeter_server::Greeter for Greets {
    async fn say_hello(
        &self,
        request: Request<helloworld::HelloRequest>,
    ) -> Result<Response<helloworld::HelloReply>, Status> {
        let message = request.into_inner().name;
        Ok(Response::new(helloworld::HelloReply { message }))
    }
}

struct Echoes;

#[tonic::async_trait]
impl orders::orders_server::Orders for Echoes {
    async fn echo(&self, request: Request<orders::Order>) -> Result<Response<orders::Order>, Status> {
        Ok(Response::new(request.into_inner()))
    }
}

struct Holds;

#[tonic::async_trait]
impl idle::idle_server::Idle for Holds {
    type HoldStream = ReceiverStream<Result<idle::Msg, Status>>;

    async fn hold(&self, request: Request<Streaming<idle::Msg>>) -> Result<Response<Self::HoldStream>, Status> {
        let mut messages = request.into_inner();
        let (sender, receiver) = tokio::sync::mpsc::channel(16);
        tokio::spawn(async move {
            while let Ok(Some(message)) = messages.message().await {
                if sender.send(Ok(message)).await.is_err() {
                    break;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

async fn serve(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let incoming = TcpIncoming::bind(format!("127.0.0.1:{}", arguments[1]).parse()?)?.with_nodelay(Some(true));
    let mut server = Server::builder();
    if let [_, _, _, certificate, key] = arguments {
        let identity = Identity::from_pem(std::fs::read(certificate)?, std::fs::read(key)?);
        server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
    }
    println!("listening on {}", incoming.local_addr()?);
    std::io::stdout().flush()?;
    server
        .add_service(helloworld::greeter_server::GreeterServer::new(Greets))
        .add_service(orders::orders_server::OrdersServer::new(Echoes))
        .add_service(idle::idle_server::IdleServer::new(Holds))
        .serve_with_incoming(incoming)
        .await?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let mut builder = match arguments.get(2).map(String::as_str) {
        Some("current") => tokio::runtime::Builder::new_current_thread(),
        Some("multi") => tokio::runtime::Builder::new_multi_thread(),
        _ => return Err("usage: greeter_tonic PORT current|multi [CERT KEY]".into()),
    };
    builder.enable_all().build()?.block_on(serve(&arguments))
}
