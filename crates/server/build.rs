//! Makes sure that there is something to embed as Studio.
//!
//! Studio is built separately. When `studio/dist` has no start page, one is written that says how
//! to build it, so that the server always builds and always answers `/studio/`.

use std::path::Path;

const PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Jackdaw</title>\
<p>Studio is not part of this build. Run <code>cargo xtask studio</code>, then build again.</p>\
</html>\n";

fn main() {
    let dist = Path::new("../../studio/dist");
    let page = dist.join("index.html");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", dist.display());
    if !page.exists() {
        let written = std::fs::create_dir_all(dist).and_then(|()| std::fs::write(&page, PAGE));
        if let Err(error) = written {
            println!("cargo:warning=cannot write {}: {error}", page.display());
        }
    }
}
