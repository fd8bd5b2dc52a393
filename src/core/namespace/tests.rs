//! What a namespace decides, told as facts about sessions and lives; everything goes through the public ways in.

mod checks;
mod directory;
mod doubles;
mod figures;
mod frozen;
mod life;
mod life_model;
mod presence;
mod recall;
mod steps;
mod support;
mod time;
