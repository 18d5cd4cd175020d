//! INFO: what the server knows of itself, in the sections and names of Redis.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use super::all;
use super::call::Call;
use crate::failure::Outcome;
use crate::keyspace::{ShardStatistics, Space};

/// The version of Redis whose commands are answered; clients choose what they send by it.
pub(super) const REDIS_VERSION: &str = "7.0.15";

const SECTIONS: &[&str] = &[
    "server",
    "clients",
    "memory",
    "persistence",
    "stats",
    "replication",
    "cpu",
    "keyspace",
];

pub(super) fn info(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let mut wanted: Vec<String> = (1..call.len())
        .map(|position| call.lower(position))
        .collect();
    let asks = |word: &str| wanted.iter().any(|section| section == word);
    let everything = asks("all") || asks("everything");
    if wanted.is_empty() || asks("default") || everything {
        wanted.extend(SECTIONS.iter().map(|&section| section.to_owned()));
    }
    if everything {
        wanted.push("commandstats".to_owned());
    }
    let mut text = String::new();
    for section in SECTIONS.iter().chain(&["commandstats"]) {
        if !wanted.iter().any(|other| other == section) {
            continue;
        }
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        let mut title = (*section).to_owned();
        title[..1].make_ascii_uppercase();
        let _ = write!(text, "# {title}\r\n");
        for (name, value) in facts(call, space, section) {
            let _ = write!(text, "{name}:{value}\r\n");
        }
    }
    call.out.verbatim(&text);
    Ok(())
}

type Facts = Vec<(String, String)>;

fn facts(call: &Call<'_>, space: &mut Space, section: &str) -> Facts {
    let mut facts = Facts::new();
    let mut put = |name: &str, value: String| facts.push((name.to_owned(), value));
    let shared = call.shared;
    match section {
        "server" => {
            let seconds = (call.now - shared.started) / 1000;
            put("redis_version", REDIS_VERSION.to_owned());
            put("server_name", "jackdaw".to_owned());
            put("jackdaw_version", env!("CARGO_PKG_VERSION").to_owned());
            put("redis_mode", "standalone".to_owned());
            put("os", std::env::consts::OS.to_owned());
            put("arch_bits", "64".to_owned());
            put("process_id", std::process::id().to_string());
            put("tcp_port", shared.port.load(Ordering::Relaxed).to_string());
            put("uptime_in_seconds", seconds.to_string());
            put("uptime_in_days", (seconds / 86_400).to_string());
            put("io_threads", shared.thread_count().to_string());
        }
        "clients" => {
            let clients = shared.clients.all();
            let blocked = clients
                .iter()
                .filter(|client| client.is_blocked.load(Ordering::Relaxed));
            put("connected_clients", clients.len().to_string());
            put("maxclients", shared.settings.clients_max().to_string());
            put("blocked_clients", blocked.count().to_string());
        }
        "memory" => {
            let used = space.used();
            put("used_memory", used.to_string());
            put(
                "used_memory_human",
                format!("{:.2}M", used as f64 / 1_048_576.0),
            );
            if let Some(memory) = jackdaw_io::system::process_memory() {
                put("used_memory_rss", memory.resident_bytes.to_string());
            }
            put("maxmemory", shared.settings.memory().to_string());
            put(
                "maxmemory_policy",
                shared.settings.policy().name().to_owned(),
            );
        }
        "persistence" => {
            put("loading", "0".to_owned());
            put("durable", u8::from(shared.is_durable()).to_string());
            put("aof_enabled", u8::from(shared.is_durable()).to_string());
            put("rdb_changes_since_last_save", "0".to_owned());
            put("rdb_bgsave_in_progress", "0".to_owned());
            put("aof_rewrite_in_progress", "0".to_owned());
            let is_writable = shared.check_writable().is_ok();
            put(
                "aof_last_write_status",
                if is_writable { "ok" } else { "err" }.to_owned(),
            );
        }
        "stats" => {
            let mut total = ShardStatistics::default();
            for shard in space.shards() {
                total.hits += shard.statistics.hits;
                total.misses += shard.statistics.misses;
                total.expired += shard.statistics.expired;
                total.evicted += shard.statistics.evicted;
            }
            let connections = shared.clients.total.load(Ordering::Relaxed);
            let refused = shared.clients.refused.load(Ordering::Relaxed);
            let commands: u64 = shared.calls.iter().map(|calls| calls.get()).sum();
            put("total_connections_received", connections.to_string());
            put("total_commands_processed", commands.to_string());
            put("total_net_input_bytes", shared.bytes_in.get().to_string());
            put("total_net_output_bytes", shared.bytes_out.get().to_string());
            put("rejected_connections", refused.to_string());
            let evicted = shared.clients.evicted.load(Ordering::Relaxed);
            put("evicted_clients", evicted.to_string());
            put("expired_keys", total.expired.to_string());
            put("evicted_keys", total.evicted.to_string());
            put("keyspace_hits", total.hits.to_string());
            put("keyspace_misses", total.misses.to_string());
            put(
                "pubsub_channels",
                shared.channels.channel_count().to_string(),
            );
            put(
                "pubsub_patterns",
                shared.channels.pattern_count().to_string(),
            );
            put("total_error_replies", shared.errors.get().to_string());
        }
        "replication" => {
            put("role", "master".to_owned());
            put("connected_slaves", "0".to_owned());
            put("master_repl_offset", "0".to_owned());
        }
        "cpu" => {
            let seconds = jackdaw_io::system::process_cpu_time().as_secs_f64();
            put("used_cpu_total", format!("{seconds:.6}"));
            if let Some((user, system)) = jackdaw_io::system::process_cpu_times() {
                put("used_cpu_sys", format!("{:.6}", system.as_secs_f64()));
                put("used_cpu_user", format!("{:.6}", user.as_secs_f64()));
            }
        }
        "commandstats" => {
            for known in all() {
                let calls = shared.calls[known.number].get();
                let rejected = shared.rejections[known.number].load(Ordering::Relaxed);
                let failed = shared.failures[known.number].load(Ordering::Relaxed);
                if calls + rejected > 0 {
                    let failed = failed.saturating_sub(rejected);
                    put(
                        &format!("cmdstat_{}", known.spec.name),
                        format!("calls={calls},rejected_calls={rejected},failed_calls={failed}"),
                    );
                }
            }
        }
        _ => {
            for database in 0..shared.settings.databases {
                let keys = space.len(database);
                if keys > 0 {
                    let volatile: usize = space.shards().map(|s| s.volatile_len(database)).sum();
                    put(
                        &format!("db{database}"),
                        format!("keys={keys},expires={volatile},avg_ttl=0"),
                    );
                }
            }
        }
    }
    facts
}
