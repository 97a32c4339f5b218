// The code for bench/protos, by protoc and tonic's own generator.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protos = "../../../protos";
    let files = ["helloworld", "idle", "orders", "testsvc"].map(|name| format!("{protos}/{name}.proto"));
    tonic_prost_build::configure().compile_protos(&files, &[protos.to_string()])?;
    Ok(())
}
