// workload_tonic PORT smol|big|req|resp|bidi SECONDS: what bench_workload does, on tonic and tokio's current-thread runtime.
use std::time::Instant;
use test::test_service_client::TestServiceClient;
use test::{TestRequest, TestResponse};
use tokio::task::JoinSet;
use tonic::transport::Channel;

mod test {
    tonic::include_proto!("test");
}

type Client = TestServiceClient<Channel>;
type Outcome = Result<usize, Box<dyn std::error::Error>>;

const SMALL_MESSAGES: usize = 1000; // a round of all workloads but big
const BIG_MESSAGES: usize = 100;
const BIG_NUMBERS: usize = 32 * 224 * 224 / 8;

fn expect_numbers(reply: &TestResponse, count: usize) {
    let last = reply.data.last().copied().unwrap_or(0);
    assert!(reply.data.len() == count && last == count as u64, "a reply has other numbers than are due");
}

fn small_request(wanted: usize) -> TestRequest {
    TestRequest { test_response_sz: wanted as u64, data: vec![0] }
}

async fn together(to: &Client, count: usize, make: fn() -> TestRequest) -> Outcome {
    let mut calls = JoinSet::new();
    for _ in 0..count {
        let mut client = to.clone();
        calls.spawn(async move { client.test_rpc(make()).await });
    }
    while let Some(reply) = calls.join_next().await {
        expect_numbers(reply??.get_ref(), 1);
    }
    Ok(count)
}

async fn smol(to: &Client) -> Outcome {
    together(to, SMALL_MESSAGES, || small_request(1)).await
}

async fn big(to: &Client) -> Outcome {
    together(to, BIG_MESSAGES, || TestRequest { test_response_sz: 1, data: vec![0; BIG_NUMBERS] }).await
}

fn small_requests() -> impl tokio_stream::Stream<Item = TestRequest> {
    tokio_stream::iter((0..SMALL_MESSAGES).map(|_| small_request(1)))
}

async fn req(to: &Client) -> Outcome {
    let reply = to.clone().test_client_stream_rpc(small_requests()).await?;
    expect_numbers(reply.get_ref(), SMALL_MESSAGES);
    Ok(SMALL_MESSAGES)
}

async fn resp(to: &Client) -> Outcome {
    let mut replies = to.clone().test_server_stream_rpc(small_request(SMALL_MESSAGES)).await?.into_inner();
    let mut count = 0;
    while let Some(reply) = replies.message().await? {
        count += 1;
        expect_numbers(&reply, count);
    }
    assert!(count == SMALL_MESSAGES, "replies are missing");
    Ok(SMALL_MESSAGES)
}

async fn bidi(to: &Client) -> Outcome {
    let mut replies = to.clone().test_bidirectional_stream_rpc(small_requests()).await?.into_inner();
    let mut count = 0;
    while let Some(reply) = replies.message().await? {
        count += 1;
        expect_numbers(&reply, 1);
    }
    assert!(count == SMALL_MESSAGES, "replies are missing");
    Ok(SMALL_MESSAGES)
}

async fn round(to: &Client, name: &str) -> Outcome {
    match name {
        "smol" => smol(to).await,
        "big" => big(to).await,
        "req" => req(to).await,
        "resp" => resp(to).await,
        "bidi" => bidi(to).await,
        _ => Err("there is no such workload".into()),
    }
}

fn cpu_seconds() -> f64 {
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut used) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(used.ru_utime) + seconds(used.ru_stime)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, name, seconds] = &arguments[..] else {
        return Err("usage: workload_tonic PORT smol|big|req|resp|bidi SECONDS".into());
    };
    let seconds: f64 = seconds.parse()?;
    let to = Client::connect(format!("http://127.0.0.1:{port}")).await?;
    // The first round warms up, and does not count.
    round(&to, name).await?;
    let (began, cpu_before, mut messages) = (Instant::now(), cpu_seconds(), 0);
    while began.elapsed().as_secs_f64() < seconds {
        messages += round(&to, name).await?;
    }
    println!("{messages} {:.6} {:.6}", began.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
    Ok(())
}
