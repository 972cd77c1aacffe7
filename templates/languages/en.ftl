# The texts of the pages in English. To add a language, write a file like this one, named after its tag (fr.ftl,
# pt-BR.ftl), into the folder of `serve --languages`. Missing texts appear in English. Do not change names in braces.

language_name = English
language_switch = Language: { $language }
service = Tabularium
skip = Skip to the content
test_mode = Test mode: nobody in these records is real.
wanted_by = { $app } would like to see your health records
cancel = Cancel and go back to { $app }
working = One moment…
optional = optional
to_correct = There’s something to correct
# The title of a page with something to correct, which is read out first.
wrong_title = To correct: { $title }
# What becomes of the records, beside a lock: before anything is connected, and after.
promise = If you agree, only { $app } gets your records. We keep a copy.
promise_shared = Only { $app } gets what you share. We keep a copy. You can stop this at any time.
app_privacy = Privacy: how { $app } uses your data
app_privacy_short = Privacy
app_terms = Terms of use
brand_privacy = Privacy
brand_help = Help
brand_contact = Contact us
organization_payer = Health plan
organization_provider = Clinic or hospital
organization_pharmacy = Pharmacy
organization_lab = Lab
progress = Progress
step_find = Find
step_review = Review
step_sign_in = Sign in
step_verify = Verify
step_connect = Connect
step_share = Share
step_done = done

## Finding an organization

choose_title = Where are your records?
choose_lead = Find your health plan, clinic or hospital. You’ll sign in there, on its own page.
choose_lead_details = Find your health plan, clinic or hospital. You’ll sign in there, or we’ll ask for you there with your details.
choose_label = Name of your plan or provider
choose_hint = For example, a name on your insurance card
choose_search = Search
choose_results = Places
choose_none = We found nothing for “{ $query }”. Check the spelling, or try a shorter name.
choose_empty = There’s no place to connect here yet.
choose_found = { $number ->
    [one] { $number } place
   *[other] { $number } places
 }
choose_many = { $number ->
   *[other] More than { $number } places
 }
choose_more = { $number ->
   *[other] Only the first { $number } are shown. Type more of the name to see fewer.
 }
choose_connected = Connected
choose_details = Search by my details instead
choose_searching = Searching…
choose_lost = Can’t find yours?
choose_lost_tips = Try the name on your insurance card or a bill, the larger group that it belongs to, or its town or state. It doesn’t have to be spelled right.
choose_lost_details = If it isn’t in the list, we can look for your records with your name and date of birth.
choose_lost_app = If it isn’t in the list, it can’t be connected yet. Tell { $app } which one you miss.
choose_lost_contact = If it isn’t in the list, it can’t be connected yet.
choose_lost_tell = Tell us which one you miss
choose_hub = Back to my sources

## The review

share_title = Share your records from { $source }?
share_with = { $app } will get:
share_person = Who you are
share_person_more = name, date of birth, address and contact details
share_insurance = Insurance
share_health = Health
share_care = Care
share_more = More
share_more_more = other records about you
kind_coverage = coverage
kind_claims = claims and what was paid
kind_conditions = conditions
kind_allergies = allergies
kind_medications = medications
kind_immunizations = vaccines
kind_visits = visits
kind_procedures = procedures
kind_results = test results
kind_documents = documents
kind_plans = care plans
kind_teams = care teams
kind_devices = medical devices
# Between the parts of a list, and before the last of them.
list_comma = { ", " }
list_and = { " and " }
share_what_more = What’s in it
share_long_more = More about this
share_where = Not every place keeps all of these. What it doesn’t have isn’t shared.
share_how_long = For how long
# In a few words, and in a sentence behind a disclosure.
share_once_short = For 24 hours. Then we delete our copy.
share_once = We fetch your records once. { $app } can see them for 24 hours. Then we delete our copy.
share_once_forced = { $app } asked for more, but this place gives out records only once.
share_ongoing_short = Until you or the app stop it, new records included.
share_ongoing = { $app } can keep getting new records without asking you again. That ends when you or the app stop it, or when the app doesn’t renew its access for 90 days. Then we delete our copy.
share_declined = If you say no to lasting access at { $source }, or it gives none, we fetch your records once and delete our copy after a day.
share_longest = { $number ->
    [one] After { $number } day, it will ask you to sign in again.
   *[other] After { $number } days, it will ask you to sign in again.
 }
share_end = You can stop this at any time in { $app }. We then delete our copy of your records.
share_password = Next, you’ll sign in there. We never see your password.
share_agree = Agree and continue to { $source }
share_other = Choose another place

## Something is in the way

problem_refused_title = { $source } didn’t share your records
problem_refused = It told us that access wasn’t granted. You may have cancelled there, or not agreed. Nothing was shared.
problem_no_patient_title = { $source } found no records for you
problem_no_patient = You signed in, but it keeps no records under your name. Nothing was shared.
problem_down_title = We can’t reach { $source }
problem_down = It didn’t answer as we expected, so nothing was shared. Try again in a few minutes.
problem_rejected_title = { $source } doesn’t accept this service
problem_rejected = It turned us away before you could agree, because of how we’re set up there. Nothing was shared. We’ve told the people who run this service.
problem_unreadable_title = We can’t connect { $source }
problem_unreadable = It keeps records in a form that we can’t read. Nothing was shared. Trying again won’t help.
problem_again = Try { $source } again
problem_other = Choose another place

## Several sources

hub_title = Your sources
hub_title_alone = You’re connected
hub_lead_alone = One last step: share your records with { $app }.
hub_remove = Remove
hub_remove_named = Remove { $source }
hub_again = Try again
hub_lead = Connect as many as you like. Then share them all with { $app } at once.
hub_connected = Ready to share
hub_failed = Not connected
hub_none = Nothing is connected yet.
hub_add = Add another source
hub_finish = Share with { $app }
hub_drop = Share nothing
hub_leave = Go back to { $app }
hub_failed_all = We couldn’t connect any of your sources. Try again, add one by hand, or go back.
hub_found = Show the places we found

## Searching by details

details_title = Find your records by your details
details_title_at = Find your records at { $source }
details_lead_at = { $source } has no sign-in page. We’ll ask it through a network of providers, and give them these details. We use them for this search only.
details_lead = We’ll ask a network of providers if they know a person with these details. We use them for this search only.
details_given = First name
details_family = Last name
details_birth_date = Date of birth
details_birth_date_hint = For example: 12 31 1980
details_day = Day
details_month = Month
details_year = Year
# In which order a date is written: the words month, day and year, in English.
date_order = month day year
# The names of the twelve months, with spaces between them.
month_names = January February March April May June July August September October November December
details_birth_date_future = Your date of birth can’t be in the future
details_birth_date_old = Check the year of your date of birth
details_gender = Sex on record
details_gender_none = Rather not say
details_female = Female
details_male = Male
details_other = Other
details_unknown = Unknown
details_postal_code = ZIP or postal code
details_search = Search
details_manual = Find a place by name instead
details_missing_given = Enter your first name
details_missing_family = Enter your last name
details_bad_birth_date = Enter your date of birth with month, day and full year, like 12 31 1980
details_long = This is too long
details_down_title = The search didn’t work
details_down = The network didn’t answer. Try again in a moment, or find a place by name.

## Showing who one is

identity_title = First, show that it’s you
identity_lead = A partner checks who you are. Then we ask a nationwide network which places hold your records.
identity_what = We get your name, date of birth, sex and address from the partner, and nothing else.
identity_go = Verify with { $provider }
identity_none_title = We can’t check who you are right now
identity_none = No partner is set up here to check who you are. Go back and try again later.
# A partner that isn’t in the directory any more.
identity_unknown = Our partner
identity_refused_title = We couldn’t confirm that it’s you
identity_refused = { $provider } didn’t confirm who you are. You may have cancelled there. Nothing was shared.
identity_down_title = We can’t reach { $provider }
identity_down = It didn’t answer as we expected. Try again in a few minutes.

## Places that were found

facilities_title = These places have records of yours
facilities_not_there = { $source } knows no records under these details. These other places may have some.
facilities_title_details = These places may have records of yours
facilities_lead = Choose which ones to connect. You can add health plans and other places by hand later.
facilities_legend = Places we found
facilities_connect = Agree and connect
facilities_skip = Connect none of these
facilities_nothing = Choose at least one place, or continue without
facilities_none_title = We found no records for you
facilities_none_identity = You’ve shown who you are, but nobody on the network knows records under your details. You can still add a plan or provider by hand.
facilities_none_at = Neither { $source } nor anybody else on the network knows records under these details. Check them, or find a place by name.
facilities_none_details = Nobody on the network knows records under these details. Check them, or find a place by name.
facilities_add = Add a source by hand
facilities_again = Change my details
facilities_leave = Go back to { $app } without sharing

## Waiting

waiting_source = Connecting to { $source }
waiting_source_text = You’ve signed in at { $source }. We’re setting up the link. It can take half a minute.
waiting_provider = Looking for your records
waiting_provider_text = { $provider } is confirming who you are. Then we ask which places have records of yours. It can take half a minute.
waiting_search = Looking for your records
waiting_search_text = We’re asking which places may have records of yours. It can take half a minute.
waiting_places = Connecting your places
waiting_places_text = We’re asking each of them for access to your records. It can take a minute.
waiting_here = This page continues by itself. Keep it open.
waiting_late = It’s taking longer than usual. You don’t need to do anything.
waiting_look = Look again now
place_asked = Connecting…
place_connected = Connected
place_failed = Not connected

## Inside another site’s page

frame_title = Sign in at { $source }
frame_lead = { $source } opens in its own window. When you’re done there, this page continues by itself.
frame_open = Open { $source }
frame_waiting = Waiting for you to finish in the other window.
frame_check = I’m done there
link_title = Connect your health records
link_close = Close

window_title = You can close this window
window_text = Continue on the page that you came from.

## Time

# How long a page stays open after it was loaded. A script knows the time of day, and shows the second text instead.
ends_for = { $number ->
    [one] Open for { $number } minute
   *[other] Open for { $number } minutes
 }
ends_until = Open until { $time }
ends_more = To protect you, the page closes then if you do nothing. Loading it again gives you more time.
ends_title = Do you need more time?
# A script fills the gap with a time of day.
ends_text = To protect you, this page closes at { $time } unless you stay.
ends_stay = Stay on this page

## The end

done_title = Done
done_text = Your records are on their way to { $app }. You can close this window.
done_next = { $app } gets them in the next few minutes. You can stop sharing there at any time.
left_title = Nothing was shared
left_text = You can close this window.

over_title = This page isn’t open any more
over_text = Its time ran out, or you finished it or opened it in another window.
over_again = To start again, go back to the app or website that sent you here.
over_left = Nothing was shared with { $app } here. You can start again there whenever you like.
over_shared_title = You’re done here
over_shared = You’ve shared your records with { $app }.
over_back = Go back to { $app }
over_close = You can close this window.
other_title = You continued in another window
other_text = You started again since this page was opened, and only the newest one works. Nothing is lost: continue there, and close other windows like this one.
other_go_on = Continue in the newest one
ticket_title = This window is out of date
ticket_text = Close it, go back to the page that opened it, and press the button there again. Nothing was shared.
callback_title = We can’t tell where you came from
callback_text = You were sent back to us, but not from a sign-in that’s open in this browser. Nothing was shared. Go back to the app that sent you, and start again.
busy_title = Too many people at once
busy_text = We’ve just had too many requests from your network. Nothing was shared. Wait a few seconds and load this page again.
broken_title = Something went wrong here
broken_text = It isn’t your fault, and nothing was shared by it. Try again in a moment.

untrusted_title = This link doesn’t work
untrusted_client = We don’t know the app that sent you.
untrusted_no_redirect = The app that sent you didn’t say where to send you back to.
untrusted_redirect = The app that sent you asked us to send you back to an address that isn’t its own.
untrusted_origin = The page that opened this window isn’t known to belong to the app that it names.
untrusted_what = Nothing was shared. Close this window and tell the maker of the app.
untrusted_detail = For its maker:

nowhere_title = There’s nothing at this address
nowhere_text = It may be mistyped, or what was here is gone. If an app or website sent you here, go back to it and start again.
nowhere_start = Go to the start page
nowhere_help = Get help

## The error codes, for patients and for developers

errors_title = Error codes
errors_lead = What an app is told when a patient comes back without records, and what you can do about it.
errors_back = All error codes
errors_patient = If you were sharing your records
errors_developer = If you make the app
errors_unknown_title = There’s no such error code

error_access_denied = The patient didn’t finish
error_access_denied_patient = Nothing was shared. Start again in the app whenever you like.
error_access_denied_developer = The patient cancelled, left, or no records were found for them; error_description says which. Let them begin again when they wish to.
error_session_timeout = The session timed out
error_session_timeout_patient = You were away for more than 30 minutes, so we closed the pages to protect you. Nothing was shared. Start again in the app.
error_session_timeout_developer = The patient came back after 30 minutes without a step. Offer to begin again with a new state and code_challenge.
error_abandoned = The sharing was ended early
error_abandoned_patient = What you started was ended before it was done. Nothing was shared. Start again in the app.
error_abandoned_developer = The flow was ended before the patient finished it. Offer to begin again with a new state and code_challenge.
error_no_facilities = No source could be connected
error_no_facilities_patient = We couldn’t connect any of the places you chose. Nothing was shared. Try again later.
error_no_facilities_developer = Every source that the patient chose failed for technical reasons. Offer to try again later.
error_server_error = The service failed
error_server_error_patient = Something broke here. Nothing was shared. Try again in a few minutes.
error_server_error_developer = The flow could not be begun or finished for internal reasons. Offer to try again; if it persists, report the X-Request-Id of the last answer.

## The page that opens a shared record. The script of the page fills the gaps.

viewer_title = Shared health record
viewer_needs = This page needs JavaScript. The record is locked, and only your browser has the key: it’s in the link. Allow scripts for this page, or open the link in an app that reads SMART Health Links.
viewer_passcode = Passcode
viewer_passcode_about = You get it from the person who shared this record.
viewer_recipient = Your name or organization
viewer_recipient_about = Optional. The patient can see who opened the record.
viewer_open = Open the record
viewer_contents = What’s in the record
viewer_footer = Your browser unlocks the record. The key is part of the link, so anybody who has the whole link can open the record until it ends.
viewer_ended_title = This link has ended
viewer_ended = Its time is up, or the person who shared the record took it back. Ask them for a new link.
viewer_newer_title = We can’t open this link
viewer_newer = It’s of a newer kind. Open it with an app that reads SMART Health Links.
viewer_elsewhere_title = This link belongs somewhere else
viewer_elsewhere = Another service made it. Open it at the address that came with it.
viewer_unfetched_title = We couldn’t get the record
viewer_offline = We got no answer. Check your connection, and load this page again.
viewer_busy_title = Too many people at once
viewer_busy = Wait a minute, and try again.
viewer_failed = Something went wrong on our side. Try again in a few minutes.
viewer_damaged_title = This link is damaged
viewer_damaged = A part of it is missing, or it was changed on the way. Copy the whole link, or scan the QR code again.
viewer_unshown_title = We couldn’t show the record
viewer_unshown = This browser couldn’t open it. Update the browser, or try another one.
viewer_tries_over = There were too many wrong passcodes. Ask the person who shared the record for a new link.
viewer_wrong = { $number ->
    [one] That isn’t the passcode. You have one more try. After that, the link ends for good.
   *[other] That isn’t the passcode. You have { $number } more tries. After that, the link ends for good.
 }
viewer_opening = Opening the record…
viewer_protected = You need a passcode to open this record.
viewer_protected_named = You need a passcode to open “{ $label }”.
viewer_shared_as = Shared as
viewer_patient = Patient
viewer_born = Born
viewer_made = Made
viewer_issued = Issued
viewer_issued_by = Issued by
viewer_signature = Signature
viewer_card = Health card
viewer_card_codes = A health card leaves words out to save room. Some records have only a code.
viewer_download_card = Download health card
viewer_print = Print or save as PDF
viewer_download_pdf = Download PDF
viewer_download_data = Download data (JSON)
viewer_no_document = We can’t show this record as a page. You can still download its data.
viewer_section = Section
viewer_empty = There’s nothing in this section.
viewer_what = What
viewer_when = When
viewer_value = Value
viewer_status = Status
viewer_unsaid = No name
viewer_signed_elsewhere = We couldn’t check it: another service made this card
viewer_signed_unknown = Don’t trust this card: the issuer doesn’t know its key
viewer_signed_changed = Don’t trust this card: somebody changed it
viewer_signed_revoked = The card is real, but the issuer took it back
viewer_signed_good = The card is real: it’s from the issuer and still good
viewer_signed_unchecked = We couldn’t check it: the issuer’s keys didn’t load
