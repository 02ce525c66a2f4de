internal import JSON
internal import OnboardingDomain

extension StepCatalogue {
  /// The first version: 45 steps in nine phases, of which 33 take input that is kept as 34 fields.
  ///
  /// - Throws: ``Fault`` when the document is damaged.
  static func first() throws(Fault) -> StepCatalogue {
    guard let document = try? JSONParser.parse(Array(firstDocument.utf8)) else {
      throw Fault("the first catalogue is not JSON")
    }
    return try StepCatalogue(document)
  }

  /// Data, as a later version would come in a file.
  private static let firstDocument = #"""
    {"version": 1, "steps": [
      {"step": 1, "phase": "WARNING_INITIATION", "type": "explanation", "topic": "a warning: this is not for everyone"},
      {"step": 2, "phase": "WARNING_INITIATION", "type": "voice", "fields": ["voice_commitment"], "minimum_seconds": 10, "topic": "the real reason for being here"},
      {"step": 3, "phase": "WARNING_INITIATION", "type": "text", "fields": ["identity_name"], "topic": "the name to be called by"},
      {"step": 4, "phase": "WARNING_INITIATION", "type": "explanation", "topic": "what will be exposed"},
      {"step": 5, "phase": "WARNING_INITIATION", "type": "voice", "fields": ["biggest_lie"], "minimum_seconds": 7, "topic": "the lie told to oneself every day"},
      {"step": 6, "phase": "EXCUSE_DISCOVERY", "type": "choice", "fields": ["favorite_excuse"], "options": ["No time", "Too tired", "Tomorrow", "Not the right moment", "Others have it easier", "Another one"], "topic": "the excuse used most"},
      {"step": 7, "phase": "EXCUSE_DISCOVERY", "type": "voice", "fields": ["last_failure"], "minimum_seconds": 10, "topic": "the last thing given up"},
      {"step": 8, "phase": "EXCUSE_DISCOVERY", "type": "explanation", "topic": "what excuses cost"},
      {"step": 9, "phase": "EXCUSE_DISCOVERY", "type": "text", "fields": ["weakness_window"], "topic": "when and where it breaks"},
      {"step": 10, "phase": "EXCUSE_DISCOVERY", "type": "voice", "fields": ["procrastination_now"], "minimum_seconds": 8, "topic": "what is being avoided now"},
      {"step": 11, "phase": "EXCUSE_DISCOVERY", "type": "dual_sliders", "fields": ["motivation_fear_intensity", "motivation_desire_intensity"], "topic": "fear and desire, from 1 to 10"},
      {"step": 12, "phase": "EXCUSE_CONFRONTATION", "type": "choice", "fields": ["time_waster"], "options": ["Scrolling", "Watching videos", "Gaming", "Porn", "Overthinking", "Something else"], "topic": "where the hours go"},
      {"step": 13, "phase": "EXCUSE_CONFRONTATION", "type": "explanation", "topic": "what the hours would have been worth"},
      {"step": 14, "phase": "EXCUSE_CONFRONTATION", "type": "voice", "fields": ["fear_version"], "minimum_seconds": 8, "topic": "the feared self"},
      {"step": 15, "phase": "EXCUSE_CONFRONTATION", "type": "choice", "fields": ["disappointment_check"], "options": ["Myself", "My parents", "My partner", "Those who believe in me", "Nobody expects anything"], "topic": "who would be disappointed"},
      {"step": 16, "phase": "EXCUSE_CONFRONTATION", "type": "voice", "fields": ["morning_failure"], "minimum_seconds": 6, "topic": "when the day was to begin and when it does"},
      {"step": 17, "phase": "PATTERN_AWARENESS", "type": "explanation", "topic": "how patterns hide"},
      {"step": 18, "phase": "PATTERN_AWARENESS", "type": "text", "fields": ["quit_counter"], "topic": "fresh starts this year"},
      {"step": 19, "phase": "PATTERN_AWARENESS", "type": "text", "fields": ["daily_non_negotiable"], "topic": "the one thing done every day"},
      {"step": 20, "phase": "PATTERN_AWARENESS", "type": "text", "fields": ["commitment_time"], "topic": "the exact time to begin tomorrow"},
      {"step": 21, "phase": "PATTERN_AWARENESS", "type": "explanation", "topic": "what one day changes"},
      {"step": 22, "phase": "PATTERN_ANALYSIS", "type": "voice", "fields": ["sabotage_pattern"], "minimum_seconds": 6, "topic": "how one stands in one's own way"},
      {"step": 23, "phase": "PATTERN_ANALYSIS", "type": "voice", "fields": ["excuse_sophistication"], "minimum_seconds": 7, "topic": "the excuse that sounds best"},
      {"step": 24, "phase": "PATTERN_ANALYSIS", "type": "choice", "fields": ["accountability_style"], "options": ["Public shame", "Confrontation", "Disappointing someone", "Competition", "Money", "Social cost"], "topic": "what makes one act"},
      {"step": 25, "phase": "PATTERN_ANALYSIS", "type": "explanation", "topic": "what holding on takes"},
      {"step": 26, "phase": "PATTERN_ANALYSIS", "type": "voice", "fields": ["success_memory"], "minimum_seconds": 7, "topic": "one time that it was followed through"},
      {"step": 27, "phase": "IDENTITY_REBUILD", "type": "voice", "fields": ["identity_goal"], "minimum_seconds": 7, "topic": "who to be in a year"},
      {"step": 28, "phase": "IDENTITY_REBUILD", "type": "explanation", "topic": "how an identity is built"},
      {"step": 29, "phase": "IDENTITY_REBUILD", "type": "text", "fields": ["success_metric"], "topic": "one number that shows success"},
      {"step": 30, "phase": "IDENTITY_REBUILD", "type": "text", "fields": ["transformation_date"], "topic": "the day by which it is done"},
      {"step": 31, "phase": "IDENTITY_REBUILD", "type": "voice", "fields": ["biggest_enemy"], "minimum_seconds": 6, "topic": "the pattern that wins"},
      {"step": 32, "phase": "COMMITMENT_SYSTEM", "type": "explanation", "topic": "how the days are counted"},
      {"step": 33, "phase": "COMMITMENT_SYSTEM", "type": "text", "fields": ["streak_target"], "topic": "days in a row to reach"},
      {"step": 34, "phase": "COMMITMENT_SYSTEM", "type": "choice", "fields": ["sacrifice_list"], "options": ["Comfort", "Excuses", "Friends who hold back", "Entertainment", "Being liked", "All of it"], "topic": "what is given up for it"},
      {"step": 35, "phase": "COMMITMENT_SYSTEM", "type": "voice", "fields": ["war_cry"], "minimum_seconds": 8, "topic": "the words that rally"},
      {"step": 36, "phase": "COMMITMENT_SYSTEM", "type": "explanation", "topic": "how the calls come"},
      {"step": 37, "phase": "EXTERNAL_ANCHORS", "type": "time_window_picker", "fields": ["evening_call_time"], "topic": "when to be called in the evening"},
      {"step": 38, "phase": "EXTERNAL_ANCHORS", "type": "text", "fields": ["external_judge"], "topic": "the name of a witness"},
      {"step": 39, "phase": "EXTERNAL_ANCHORS", "type": "choice", "fields": ["failure_threshold"], "options": ["Three strikes", "Five strikes", "One strike"], "topic": "how many misses are allowed"},
      {"step": 40, "phase": "EXTERNAL_ANCHORS", "type": "explanation", "topic": "what follows a miss"},
      {"step": 41, "phase": "EXTERNAL_ANCHORS", "type": "voice", "fields": ["oath_recording"], "minimum_seconds": 6, "topic": "the oath"},
      {"step": 42, "phase": "FINAL_OATH", "type": "voice", "fields": ["identity_declaration"], "minimum_seconds": 6, "topic": "who one is, said aloud"},
      {"step": 43, "phase": "FINAL_OATH", "type": "long_press_activate", "fields": ["contract_seal"], "minimum_seconds": 7, "topic": "held down to seal it"},
      {"step": 44, "phase": "FINAL_OATH", "type": "voice", "fields": ["consequence_acceptance"], "minimum_seconds": 6, "topic": "the consequence, said aloud"},
      {"step": 45, "phase": "FINAL_OATH", "type": "explanation", "topic": "what begins now"}
    ]}
    """#
}
