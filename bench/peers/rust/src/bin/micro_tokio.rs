// micro_tokio [NAME...]: what bench_micro measures, on tokio's current-thread runtime.
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot, Mutex};

const SAMPLES: usize = 101;
const AT_LEAST: Duration = Duration::from_micros(500);

#[inline(never)]
fn child(n: u64) -> Pin<Box<dyn Future<Output = u64>>> {
    Box::pin(async move { n + 1 })
}

async fn await_child(times: u64) {
    let mut sum = 0;
    for i in 0..times {
        sum += child(i).await;
    }
    black_box(sum);
}

async fn spawn_join(times: u64) {
    let mut sum = 0;
    for i in 0..times {
        sum += tokio::spawn(async move { black_box(i) + 1 }).await.unwrap();
    }
    black_box(sum);
}

async fn mutex(times: u64) {
    let free = Mutex::new(0u64);
    for _ in 0..times {
        let mut held = free.lock().await;
        *held += 1;
        black_box(&*held);
    }
}

async fn channel_one_task(times: u64) {
    let (sender, mut receiver) = mpsc::channel(16);
    let mut sum = 0;
    for i in 0..times {
        sender.send(i).await.unwrap();
        sum += receiver.recv().await.unwrap();
    }
    black_box(sum);
}

async fn channel_two_tasks(times: u64) {
    let (sender, mut receiver) = mpsc::channel(16);
    let producer = tokio::spawn(async move {
        for i in 0..times {
            sender.send(i).await.unwrap();
        }
    });
    let mut sum = 0;
    while let Some(message) = receiver.recv().await {
        sum += message;
    }
    producer.await.unwrap();
    black_box(sum);
}

// To a runtime on another thread and back, while both have nothing else to do.
async fn cross_loop(times: u64, other: Handle) {
    for i in 0..times {
        black_box(other.spawn(async move { i }).await.unwrap());
    }
}

async fn measure<F: Future<Output = ()>>(name: &str, repeat: impl Fn(u64) -> F) {
    let mut taken = Vec::new();
    let mut times = 16;
    while taken.len() < SAMPLES {
        let start = Instant::now();
        repeat(times).await;
        let all = start.elapsed();
        if all < AT_LEAST {
            times *= 2;
        } else {
            taken.push(all.as_nanos() as f64 / times as f64);
        }
    }
    taken.sort_by(f64::total_cmp);
    println!("{name} {:.2} {:.2} {:.2}", taken[SAMPLES / 2], taken[0], taken[SAMPLES - 1]);
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
    let (ready, handle) = oneshot::channel();
    let (end, ended) = oneshot::channel::<()>();
    let other = std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        ready.send(runtime.handle().clone()).unwrap();
        let _ = runtime.block_on(ended);
    });
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let other = Rc::new(handle.await.unwrap());
        if wants("child") {
            measure("child", await_child).await;
        }
        if wants("spawn_join") {
            measure("spawn_join", spawn_join).await;
        }
        if wants("mutex") {
            measure("mutex", mutex).await;
        }
        if wants("channel_one_task") {
            measure("channel_one_task", channel_one_task).await;
        }
        if wants("channel_two_tasks") {
            measure("channel_two_tasks", channel_two_tasks).await;
        }
        if wants("cross_loop") {
            measure("cross_loop", |times| cross_loop(times, (*other).clone())).await;
        }
    });
    drop(end);
    other.join().unwrap();
}
