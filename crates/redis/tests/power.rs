//! Durable mode on the simulated disk: whatever clients of several event loops were told is there
//! after a loss of power at any moment, and every command is answered.

mod support;

use std::sync::Arc;
use std::sync::Mutex;

use jackdaw_io::Vfs;
use jackdaw_redis::{RedisConfig, RedisServer};
use jackdaw_sim::{CrashChoice, SimVfs};
use support::{Client, config};

const CLIENTS: usize = 6;
const ROUNDS: usize = 40;
/// More than a loop writes by itself.
const LONG_BYTES: usize = (1 << 20) + 1;

fn durable() -> RedisConfig {
    let mut config = config();
    config.data = Some("/keys".into());
    config.threads = 3;
    config
}

fn start_on(vfs: &Arc<SimVfs>) -> RedisServer {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    RedisServer::start_on(&durable(), vfs).expect("the server starts")
}

/// A disk after a loss of power, and for each client how many rounds it had been told of before.
type Loss = (Arc<SimVfs>, Vec<usize>);

#[test]
fn what_clients_of_several_loops_were_told_survives_a_loss_of_power() {
    let vfs = SimVfs::new(7);
    let server = start_on(&vfs);
    let told = Mutex::new(vec![0; CLIENTS]);
    let losses: Mutex<Vec<Loss>> = Mutex::default();
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (server, vfs, told, losses) = (&server, &vfs, &told, &losses);
            scope.spawn(move || {
                let mut client = Client::connect(server);
                for round in 0..ROUNDS {
                    let key = format!("key:{number}:{round}");
                    let long;
                    let value: &[u8] = match (number, round % 10) {
                        (0, 5) => {
                            long = vec![b'x'; LONG_BYTES];
                            &long
                        }
                        _ => b"short",
                    };
                    // Two at once: the second is run while the first waits for the disk.
                    client.send_words(&[b"SET", key.as_bytes(), value]);
                    client.send(&format!("RPUSH list:{number} {round}"));
                    assert_eq!(client.reply(), "OK");
                    assert_eq!(client.reply(), (round + 1).to_string());
                    told.lock().unwrap()[number] = round + 1;
                    if round % 10 == number {
                        let known = told.lock().unwrap().clone();
                        let seed = (number * ROUNDS + round) as u64;
                        let choice = match seed % 3 {
                            0 => CrashChoice::LoseAll,
                            _ => CrashChoice::Random(seed),
                        };
                        losses.lock().unwrap().push((vfs.crash(choice), known));
                    }
                }
            });
        }
    });
    server.stop();
    let losses = losses.into_inner().unwrap();
    assert_eq!(losses.len(), CLIENTS * ROUNDS / 10);
    for (disk, known) in losses {
        let server = start_on(&disk);
        let mut client = Client::connect(&server);
        for (number, rounds) in known.into_iter().enumerate() {
            let there = client.run(&format!("LLEN list:{number}"));
            assert!(
                there.parse::<usize>().unwrap() >= rounds,
                "{there} of {rounds}"
            );
            for round in 0..rounds {
                let key = format!("EXISTS key:{number}:{round}");
                assert_eq!(client.run(&key), "1", "{key}");
            }
        }
        server.stop();
    }
}
