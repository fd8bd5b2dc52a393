//! What a namespace decides, told as facts about sessions and lives; everything goes through the public ways in.

mod approval;
mod checks;
mod deliveries;
mod directory;
mod doubles;
mod explain;
mod figures;
mod frozen;
mod history;
mod life;
mod life_model;
mod neighbours;
mod policy;
mod presence;
mod recall;
mod steps;
mod support;
mod time;
mod tools;
