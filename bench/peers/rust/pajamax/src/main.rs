// greeter_pajamax PORT: what bench_greeter serves, on pajamax, as far as it has it: unary calls in plaintext, each request
// in one DATA frame. A thread a connection.
use pajamax::error::Error;
use pajamax::{Config, PajamaxService, Response};
use prost::Message;
use std::io::Write;
use std::time::Duration;

mod helloworld {
    include!(concat!(env!("OUT_DIR"), "/helloworld.rs"));
}
mod orders {
    include!(concat!(env!("OUT_DIR"), "/orders.rs"));
}

struct Serves;

impl Serves {
    fn say_hello(&self, request: helloworld::HelloRequest) -> Response<helloworld::HelloReply> {
        Ok(helloworld::HelloReply { message: request.name })
    }
    fn echo(&self, request: orders::Order) -> Response<orders::Order> {
        Ok(request)
    }
}

// By hand, and no more than pajamax-build makes: its newest, 0.3, makes this trait of pajamax 0.3.
impl PajamaxService for Serves {
    fn is_dispatch_mode(&self) -> bool {
        false
    }
    fn route(&self, path: &[u8]) -> Option<usize> {
        match path {
            b"/helloworld.Greeter/SayHello" => Some(0),
            b"/orders.Orders/Echo" => Some(1),
            _ => None,
        }
    }
    fn handle(&self, method: usize, request: &[u8], stream: u32) -> Result<(), Error> {
        match method {
            0 => pajamax::local_build_response(stream, self.say_hello(helloworld::HelloRequest::decode(request)?)),
            _ => pajamax::local_build_response(stream, self.echo(orders::Order::decode(request)?)),
        }
    }
}

fn option_of(descriptor: i32, level: i32, name: i32) -> i32 {
    let mut value = 0;
    let mut size = std::mem::size_of::<i32>() as libc::socklen_t;
    let failed = unsafe { libc::getsockopt(descriptor, level, name, (&raw mut value).cast(), &mut size) };
    if failed == 0 { value } else { 0 }
}

fn port_of(descriptor: i32) -> u16 {
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    let mut size = std::mem::size_of::<libc::sockaddr_in>() as libc::socklen_t;
    unsafe { libc::getsockname(descriptor, (&raw mut address).cast(), &mut size) };
    u16::from_be(address.sin_port)
}

// pajamax makes its listener itself, and says nothing of it. It is found here among the descriptors, for its port and for
// TCP_NODELAY, which pajamax does not set and connections inherit: replies would wait for acknowledgements without.
fn announce_listener() {
    let found = loop {
        if let Some(one) = (3..256).find(|&one| option_of(one, libc::SOL_SOCKET, libc::SO_ACCEPTCONN) == 1) {
            break one;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let on = 1i32;
    let size = std::mem::size_of::<i32>() as libc::socklen_t;
    unsafe { libc::setsockopt(found, libc::IPPROTO_TCP, libc::TCP_NODELAY, (&raw const on).cast(), size) };
    println!("listening on 127.0.0.1:{}", port_of(found));
    std::io::stdout().flush().unwrap();
}

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).expect("usage: greeter_pajamax PORT");
    std::thread::spawn(announce_listener);
    let config = Config::new().max_concurrent_connections(1000);
    config.add_service(Serves).serve(format!("127.0.0.1:{port}"))
}
