// The messages of bench/protos, by protoc and prost.
fn main() -> std::io::Result<()> {
    let protos = "../../../protos";
    let files = ["helloworld", "orders"].map(|name| format!("{protos}/{name}.proto"));
    prost_build::compile_protos(&files, &[protos.to_string()])
}
