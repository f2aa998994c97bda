//! Golden pictures.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use hopcost_core::Machine;
use hopcost_sys::{Root, topology};
use hopcost_view::{plain, svg, text};

fn machine(name: &str) -> Machine {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
    topology::read(&Root::recorded(format!("{dir}/{name}.tree").as_ref()).unwrap())
}

const SHAPES: [&str; 10] = [
    "vm-n1",
    "vm-n4",
    "vm-n8",
    "vm-n2cxl-6.12",
    "hand-epyc-nps4",
    "hand-hybrid",
    "hand-arm-2-sockets",
    "hand-sparse",
    "hand-shared-cpus",
    "hand-gpu-memory",
];

#[test]
fn machines() {
    for shape in SHAPES {
        insta::assert_snapshot!(shape, plain(&text::machine(&machine(shape), 80)));
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for shape in SHAPES {
        for columns in [60, 80, 120, 200] {
            let picture = plain(&text::machine(&machine(shape), columns));
            for line in picture.lines() {
                assert!(line.chars().count() <= columns, "{shape} at {columns}: {line}");
            }
        }
    }
}

#[test]
fn a_drawing_is_complete_in_itself() {
    for shape in SHAPES {
        let drawing = svg::machine(&machine(shape));
        assert!(drawing.starts_with("<svg xmlns=") && drawing.trim_end().ends_with("</svg>"));
        let outside = drawing.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains("http") && !outside.contains("<script"), "{shape}");
        for part in ["<title", "<desc", "prefers-color-scheme:dark"] {
            assert!(drawing.contains(part), "{shape}: {part}");
        }
        assert_eq!(drawing.matches("<g ").count(), drawing.matches("</g>").count(), "{shape}");
    }
}

#[test]
fn the_readme_shows_what_is_drawn_today() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures/machine.svg");
    let shown = std::fs::read_to_string(path).unwrap();
    assert!(
        shown == svg::machine(&machine("hand-epyc-nps4")),
        "draw it anew: cargo run --release -- machine --sysfs \
         fixtures/machines/hand-epyc-nps4.tree --svg docs/pictures/machine.svg, and look at it"
    );
}
