//! `jackdaw setup`: makes a data directory serve over TLS, to those who are registered alone.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_server::{CLIENT_DAYS, Grant, SecurityDirectory, Settings};

use super::target::open_set;
use super::{DEFAULT_DATA, address};
use crate::output::say::say;
use crate::output::shell::quoted;

/// Where a secured server listens unless told otherwise.
const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 8443);

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SetupArguments {
    /// The data directory; created when it is not there.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
    /// Address and port that `jackdaw serve` listens on from then on.
    #[arg(long, value_name = "ADDRESS", default_value_t = LISTEN,
          value_parser = address::listen_secured)]
    listen: SocketAddr,
    /// A name or address by which clients reach the server; may be given several times.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Name of the first administrator.
    #[arg(long, value_name = "NAME", default_value = "admin")]
    admin: String,
}

/// Makes an authority, a certificate for the server, and one for the administrator.
pub(crate) fn run(arguments: &SetupArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    // The data directory first: it refuses a directory of something else.
    drop(open_set(&arguments.data, disk)?);
    let settings = Settings {
        listen: Some(arguments.listen),
    };
    let hosts = hosts(arguments);
    let directory = SecurityDirectory::create(&arguments.data, &hosts, &settings)?;
    let grant = Grant::new("ClusterAdmin")?;
    let issued = directory.issue_client(&arguments.admin, grant, CLIENT_DAYS)?;
    let file = directory.path().join(format!("{}.pem", arguments.admin));
    issued.save(&file)?;
    say!(
        "The server is secured: over TLS, and for those who are registered alone.\n\
         Serve:     jackdaw serve --data {data}\n\
         Address:   {listen}, as {names}\n\
         Trust:     {authority}\n\
         {admin}:     {file}  (certificate and key: move it to where the administrator works)\n\
         Others:    jackdaw certificate create NAME --access DATABASE=ReadWrite --data {data}\n\
         Ask:       jackdaw query --url https://{host}:{port} --authority {authority} \
         --certificate {file} --database NAME \"from @all_docs\"",
        data = quoted(&arguments.data),
        listen = arguments.listen,
        names = hosts.join(", "),
        authority = quoted(&directory.authority_path()),
        admin = arguments.admin,
        file = quoted(&file),
        host = in_address(&hosts[0]),
        port = arguments.listen.port(),
    );
    Ok(())
}

/// Names for the server's certificate: what was given, this machine, and the address listened on.
fn hosts(arguments: &SetupArguments) -> Vec<String> {
    let mut hosts = arguments.hosts.clone();
    let listen = arguments.listen.ip();
    if !listen.is_unspecified() {
        hosts.push(listen.to_string());
    }
    for name in ["localhost", "127.0.0.1", "::1"] {
        if !hosts.iter().any(|known| known == name) {
            hosts.push(name.to_owned());
        }
    }
    hosts
}

/// A name or address as it stands in the address of a server.
fn in_address(host: &str) -> String {
    match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}
